/** What several nodes say together, where no single one may decide. */
import type { Submission } from './rpc-errors.ts'

/**
 * @param heard the answers of each node to the same bytes, in their order. They never reject
 * @returns as soon as one node has accepted everything: the others go on. Otherwise what all of them say together
 */
export async function firstToAccept(heard: readonly Promise<readonly Submission[]>[]): Promise<readonly Submission[]> {
  const accepting = heard.map(async (answers) => {
    const all = await answers
    if (all.some(({ outcome }) => outcome !== 'accepted')) throw new Error('not everything')
    return all
  })
  const first = await Promise.any(accepting).catch(() => null)
  if (first !== null) return first
  const all = await Promise.all(heard)
  return (all[0] ?? []).map((_, i) => together(all.flatMap((answers) => answers[i] ?? [])))
}

/**
 * What the answers of all nodes to the same bytes mean. That no node will ever accept them, or that their nonce is used,
 * counts only if more than half of the nodes say it.
 */
export function together(answers: readonly Submission[]): Submission {
  const isFinal = ({ outcome }: Submission) => outcome === 'rejected' || outcome === 'nonce_too_low'
  const accepted = answers.find(({ outcome }) => outcome === 'accepted')
  if (accepted !== undefined) return accepted
  const agreed = answers.find(
    (answer) =>
      isFinal(answer) && 2 * answers.filter(({ outcome }) => outcome === answer.outcome).length > answers.length,
  )
  if (agreed !== undefined) return agreed
  const open = answers.find((answer) => !isFinal(answer) && answer.outcome !== 'unavailable')
  if (open !== undefined) return open
  const message = answers.find(isFinal)?.message ?? answers[0]?.message ?? 'no RPC URL is available now'
  return { outcome: answers.some(isFinal) ? 'unknown' : 'unavailable', message }
}
