/** Kills a process at each of a list of fault points, restarts it like production, and audits after each kill. */
import { auditStage } from '../support/points-audit.ts'
import { type FaultPoint, nameOf } from '../support/points-discovery.ts'
import type { PointsStage } from '../support/points-stage.ts'
import type { Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

export type Kill = {
  readonly point: FaultPoint
  /** False when the act ended without reaching the point. */
  readonly hit: boolean
  /** From the kill until nothing was in progress. */
  readonly recoveredMs: number
  readonly problems: readonly string[]
}

/** A point that depends on timing may not be reached; it is tried a few times. */
const TRIES = 3

/** Each stage takes the next point as soon as it is free. @param onKill called for each */
export async function killAtEach(
  stages: readonly PointsStage[],
  points: readonly FaultPoint[],
  onKill: (kill: Kill) => void = () => undefined,
): Promise<Kill[]> {
  const waiting = [...points]
  const kills: Kill[] = []
  const work = async (stage: PointsStage) => {
    // The next victim loads its code while the previous one runs.
    let next = waiting.shift()
    let loading = next && stage.prepare(next.kind)
    while (next !== undefined && loading !== undefined) {
      const [point, victim] = [next, loading]
      next = waiting.shift()
      loading = next && stage.prepare(next.kind)
      const kill = await killAt(stage, point, victim)
      kills.push(kill)
      onKill(kill)
    }
  }
  await Promise.all(stages.map(work))
  return kills
}

async function killAt(stage: PointsStage, point: FaultPoint, first: Victim): Promise<Kill> {
  for (let tries = 1; ; tries += 1) {
    const kill = await killOnce(stage, point, tries === 1 ? first : stage.prepare(point.kind))
    if (kill.hit || tries === TRIES || kill.problems.length > 0) return kill
  }
}

async function killOnce(stage: PointsStage, point: FaultPoint, victim: Victim): Promise<Kill> {
  const { act, kind, place } = point
  await stage.stop(kind)
  await victim.start()
  await victim.arm(place).armed
  const played = within(act.name, act.play(stage)).then(
    () => null,
    (error: unknown) => `${act.name}, ${nameOf(point)}: ${error}`,
  )
  const hit = await Promise.race([victim.ended, played.then(() => false)])
  const diedAt = performance.now()
  victim.kill()
  await victim.ended
  await stage.start(kind)
  const failure = await played
  const recoveredMs = performance.now() - diedAt
  const problems = failure === null ? await auditStage(stage) : [failure]
  return { point, hit, recoveredMs, problems }
}
