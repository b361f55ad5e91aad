// Whether something is on the screen, or nearly: what is far away is drawn when it comes near.

/** An action: tells whenever the element comes near the screen or leaves it. */
export function near(element: Element, told: (is: boolean) => void): { destroy: () => void } {
  if (typeof IntersectionObserver === 'undefined') {
    told(true);
    return { destroy: () => undefined };
  }
  const observer = new IntersectionObserver((entries) => told(entries[entries.length - 1].isIntersecting), { rootMargin: '400px 0px' });
  observer.observe(element);
  return { destroy: () => observer.disconnect() };
}
