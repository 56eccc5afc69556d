/** `stuck` on a database with the heartbeats of mpc parties that sign nothing or have old shares: its output and its exit code. */
import t from 'tap'
import { partyProblem } from '../../src/operator/stuck/judge-shares.ts'
import { withOperator } from '../support/operator-stage.ts'

const DAMAGED = '/var/lib/party-1/signing.journal is damaged from line 1 on: restore it from a backup.'
const OLD = 'It keeps older shares of 1 key (mpk_1): a party that has no newer ones is away.'

type Findings = { readonly stuck: boolean; readonly findings: readonly { kind: string; subject: string }[] }

t.test(
  'stuck exits with 1 while a live party signs nothing or has old shares, and with 0 before and after',
  async (t) => {
    const { pool, run } = await withOperator(t)
    /** The heartbeat of the party: fresh until the test ends, or of that age. */
    const beat = (problem: string | null, hours = 1) =>
      pool.query(
        `UPDATE heartbeats SET problem = $1, beat_at = now() + $2 * interval '1 hour'
        WHERE process = 'mpc-party-1'`,
        [problem, hours],
      )
    const found = async () => {
      const { code, out } = await run('stuck --json')
      const { stuck, findings } = JSON.parse(out) as Findings
      return { code, stuck, told: findings.map(({ kind, subject }) => `${kind} ${subject}`) }
    }
    const healthy = { code: 0, stuck: false, told: [] }

    t.strictSame(await found(), healthy)
    for (const [what, problem, told] of [
      ['a damaged journal', partyProblem(DAMAGED, null), ['mpc_party_not_signing mpc-party-1']],
      ['old shares', partyProblem(null, OLD), ['mpc_old_shares mpc-party-1']],
      ['both', partyProblem(DAMAGED, OLD), ['mpc_old_shares mpc-party-1', 'mpc_party_not_signing mpc-party-1']],
    ] as const) {
      await beat(problem)
      const now = await found()
      t.strictSame({ ...now, told: now.told.toSorted() }, { code: 1, stuck: true, told }, what)
      await beat(null)
      t.strictSame(await found(), healthy, `after ${what}`)
    }

    await beat(partyProblem(DAMAGED, OLD))
    const { code, out } = await run('stuck')
    t.equal(code, 1)
    t.match(
      out,
      /mpc_party_not_signing · mpc-party-1[\s\S]*signing\.journal is damaged from line 1 on[\s\S]*A damaged journal/,
    )
    t.match(out, /mpc_old_shares · mpc-party-1[\s\S]*older shares of 1 key \(mpk_1\)[\s\S]*How to recover a lost share/)

    await beat(partyProblem(DAMAGED, OLD), -1)
    t.strictSame(
      await found(),
      { code: 1, stuck: true, told: ['mpc_party_down mpc-party-1'] },
      'a dead party is only down',
    )
  },
)
