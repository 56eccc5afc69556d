/** Runs histories of the simulation with restores, and says what happened in how many of them. */
import { FACTS } from '../simulation/facts.ts'
import { simulateRestores } from '../simulation/restores.ts'

type Told = {
  readonly comment: (text: string) => void
  readonly ok: (value: unknown, message: string) => unknown
}

/** @throws LawBroken with the seed that repeats the first history that breaks a law */
export async function runHistories(t: Told, seed: number, histories: number): Promise<void> {
  const counts = new Map<string, number>()
  let [steps, requests, held, older] = [0, 0, 0, 0]
  const isMissing = () => FACTS.some((fact) => !counts.has(fact))
  // Rare ones may need more; a few histories that are repeated show only what is in them.
  const most = histories < 300 ? histories : 4 * histories
  let run = 0
  for (; run < histories || (run < most && isMissing()); run += 1) {
    const each = seed + run
    const outcome = await simulateRestores(each)
    steps += outcome.steps
    requests += outcome.requests
    held += outcome.held
    older += outcome.isOld ? 1 : 0
    for (const fact of outcome.facts) counts.set(fact, (counts.get(fact) ?? 0) + 1)
  }
  t.comment(`SIMULATION_SEED=${seed} SIMULATION_HISTORIES=${histories}: ${run} histories, ${steps} steps`)
  t.comment(
    `${held} of ${requests} requests were held (${((100 * held) / requests).toFixed(2)} %), all in the ${older} histories that an older version without tags began`,
  )
  for (const fact of FACTS) {
    t.comment(`${counts.get(fact) ?? 0} histories: ${fact}`)
    if (histories >= 300) t.ok(counts.get(fact), `some history contains: ${fact}`)
  }
}
