// Access to the console from a page that is already open: whether it was lost, and how it is regained.

/** The state of the door. */
export const door = $state({ out: false });

/** Tries a token, and a password if the console asks for one; returns whether it lets in. */
export async function enter(token: string, password: string): Promise<boolean> {
  const form = new URLSearchParams({ token: token.trim(), place: '/' });
  if (password) form.set('password', password);
  const response = await fetch('/login', { method: 'POST', body: form });
  if (response.ok) door.out = false;
  return response.ok;
}
