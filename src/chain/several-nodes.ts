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

/**
 * The lowest of the first answers of more than half of the nodes, without a wait for the others; of all answers, where fewer
 * come. Too low is harmless where the reader knows a lower bound of its own, as a lane knows the nonces that it has signed.
 *
 * @param asked one answer of each host
 * @throws the error of the first node when none answers
 */
export function agreedCount(asked: readonly Promise<number>[]): Promise<number> {
  const needed = Math.floor(asked.length / 2) + 1
  return new Promise((resolve, reject) => {
    const answers: number[] = []
    for (const one of asked)
      one.then((answer) => answers.push(answer) === needed && resolve(Math.min(...answers))).catch(() => undefined)
    void Promise.allSettled(asked).then(([first]) => {
      if (answers.length > 0) resolve(Math.min(...answers))
      else reject(first?.status === 'rejected' ? first.reason : new Error('no node was asked'))
    })
  })
}
