/** The one rule for text that PostgreSQL cannot store: it takes neither the character NUL nor what is not Unicode. */

/** Why a text cannot be stored, as it goes on after the name of a field; null for a text that can. */
export function whyUnstorable(text: string): string | null {
  if (text.includes('\u0000')) return 'contains the character NUL'
  if (/\p{Surrogate}/u.test(text)) return 'contains half of a surrogate pair'
  return null
}
