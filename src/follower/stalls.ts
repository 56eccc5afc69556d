/**
 * Records since when and why the follower of a chain does not move although it should: readiness, `stuck` and metrics
 * read it. A node that is quiet, or a reorg during a read, is over with the next step.
 */
import type { Pool } from 'pg'
import type { FollowStep, Refusal } from '../chain/follow.ts'
import { BursarError } from '../core/errors.ts'

/** How often a stall that lasts is recorded and logged. */
const REPEAT_MS = 10_000

export type StallReport = {
  /** Call with each step after it is in the log. */
  readonly stepped: (step: FollowStep) => Promise<void>
  /** Call when following failed and is begun again. Never rejects. */
  readonly failed: (error: unknown) => Promise<void>
}

type Ports = {
  readonly pool: Pool
  /** Called about a step that leads nowhere, when that begins and while it lasts. */
  readonly onStall: (reason: string) => void
  /** A clock, ms. */
  readonly now: () => number
}

export function createStallReport({ pool, onStall, now }: Ports, chainId: number): StallReport {
  // What an earlier leader recorded ends with the first step.
  let recorded = true
  let recordedAt = Number.NEGATIVE_INFINITY

  async function record(reason: string, waits: boolean, refusal: Refusal | null): Promise<void> {
    await pool.query({
      name: 'record_stall',
      text: `INSERT INTO chain_stalls (chain_id, reason, waits, refusal) VALUES ($1, $2, $3, $4)
             ON CONFLICT (chain_id) DO UPDATE SET reason = excluded.reason, waits = excluded.waits, refusal = excluded.refusal`,
      values: [chainId, reason, waits, refusal],
    })
    recorded = true
  }

  return {
    async stepped(step) {
      const reason = reasonOf(step)
      if (reason === null) {
        if (recorded) await pool.query('DELETE FROM chain_stalls WHERE chain_id = $1', [chainId])
        recorded = false
        recordedAt = Number.NEGATIVE_INFINITY
      } else if (now() - recordedAt >= REPEAT_MS) {
        recordedAt = now()
        onStall(reason)
        await record(reason, step.type === 'waiting', step.type === 'refused' ? step.refusal : null)
      }
    },
    async failed(error) {
      // Without a database there is nobody to tell either.
      await record(
        error instanceof BursarError ? error.message : 'it failed: read the log of the chain follower',
        false,
        null,
      ).catch(() => undefined)
    },
  }
}

function reasonOf(step: FollowStep): string | null {
  switch (step.type) {
    case 'unlinked':
    case 'refused':
    case 'waiting':
      return step.reason
    case 'behind':
      return `the node is at block ${step.head.number}, below blocks that were followed`
    case 'idle':
    case 'advance':
    case 'reorg':
      return null
  }
}
