// Detection of elements on or near the screen: others are drawn only once they come near.

/** An action that calls `told` whenever the element comes near the screen or leaves it. */
export function near(element: Element, told: (is: boolean) => void): { destroy: () => void } {
  if (typeof IntersectionObserver === 'undefined') {
    told(true);
    return { destroy: () => undefined };
  }
  const observer = new IntersectionObserver((entries) => told(entries[entries.length - 1].isIntersecting), { rootMargin: '400px 0px' });
  observer.observe(element);
  return { destroy: () => observer.disconnect() };
}
