/** A number that one of several nodes cannot raise by itself. */

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
