/**
 * Discovers the fault points. They are not listed by hand: every act runs once with all processes observed, and each
 * step of a process gives a point before it and one after it.
 */

import type { Kernel } from '../../src/compose/kernel.ts'
import { isEffect, type Step, watchSteps } from './fault-points.ts'
import { ACTS, type Act } from './points-acts.ts'
import type { PointsStage } from './points-stage.ts'
import { type Place, POINT_KINDS, type ProcessKind } from './victims.ts'

/** Where and during which act a process is killed. */
export type FaultPoint = { readonly act: Act; readonly kind: ProcessKind; readonly place: Place }

/** `signer: before append TransactionSigned`, or `after rpc … and before …` for a pair of steps. */
export function nameOf({ kind, place: { moment, step, afterEffect } }: Pick<FaultPoint, 'kind' | 'place'>): string {
  return afterEffect === undefined ? `${kind}: ${moment} ${step}` : `${kind}: between ${afterEffect} and ${step}`
}

export type Recorder = {
  readonly onKernel: (kernel: Kernel) => void
  /** Runs every act, or those that are given, and returns the points found: single steps, and pairs of consecutive effects. */
  readonly discover: (
    stage: PointsStage,
    acts?: readonly Act[],
  ) => Promise<{ readonly steps: FaultPoint[]; readonly pairs: FaultPoint[] }>
}

export function createRecorder(): Recorder {
  const taken = new Map<ProcessKind, Step[]>()
  return {
    onKernel(kernel) {
      const kind = POINT_KINDS.find((name) => name === kernel.processName)
      if (kind === undefined) return
      watchSteps(kernel, {
        before: (step) => void taken.set(kind, [...(taken.get(kind) ?? []), step]),
        after: () => undefined,
      })
    },
    async discover(stage, acts = ACTS) {
      const steps: FaultPoint[] = []
      const pairs: FaultPoint[] = []
      for (const act of acts) {
        taken.clear()
        await act.play(stage)
        for (const [kind, all] of taken) {
          for (const step of new Set(all)) {
            steps.push(
              { act, kind, place: { moment: 'before', step } },
              { act, kind, place: { moment: 'after', step } },
            )
          }
          const effects = all.filter(isEffect)
          for (const [index, step] of effects.entries()) {
            const afterEffect = effects[index - 1]
            if (afterEffect !== undefined) pairs.push({ act, kind, place: { moment: 'before', step, afterEffect } })
          }
        }
      }
      return { steps, pairs: firstOfEach(pairs) }
    },
  }
}

/** Each name once, in the first act that has it. */
export function firstOfEach(points: readonly FaultPoint[]): FaultPoint[] {
  return [...new Map(points.toReversed().map((point) => [nameOf(point), point])).values()].toReversed()
}
