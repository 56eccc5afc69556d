/** Text that PostgreSQL cannot store: the character NUL and invalid Unicode. */

/** Why a text cannot be stored, as a phrase after the name of a field; null when it can. */
export function whyUnstorable(text: string): string | null {
  if (text.includes('\u0000')) return 'contains the character NUL'
  if (/\p{Surrogate}/u.test(text)) return 'contains half of a surrogate pair'
  return null
}
