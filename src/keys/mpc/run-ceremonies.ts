/** Key generation, refresh and repair, run by the coordinator: it succeeds only if all parties succeed. */
import { Conflict, Unavailable } from '../../core/errors.ts'
import type { Ceremonies } from './ceremonies.ts'
import { type Answers, type Coordinator, partiesUnavailable } from './coordinator.ts'
import { publicKeyAddress } from './public-key.ts'
import type { Accused } from './sign-jointly.ts'

/** A value: what makes wallets and refreshes takes `Ceremonies`, which need no parties in a test. */
export function createRunCeremonies({
  coordinator,
  onAccused,
  timeoutMs,
}: {
  readonly coordinator: Pick<Coordinator, 'ask' | 'reachable'>
  readonly onAccused: (accused: Accused) => Promise<void>
  /** Time limit of a whole ceremony. */
  readonly timeoutMs: number
}): Ceremonies {
  /**
   * The result on which all parties must agree.
   *
   * @param epoch of the shares that were used; null during key generation
   */
  async function agreed(keyId: string, epoch: number | null, answers: Answers): Promise<Uint8Array> {
    const results = new Map<string, Uint8Array>()
    const failures: string[] = []
    const lost: number[] = []
    for (const [party, [item]] of answers) {
      if (item?.ok) {
        results.set(Buffer.from(item.result).toString('hex'), item.result)
        continue
      }
      const { kind, party: about, reason } = item?.refusal ?? { kind: 'invalid', party: null, reason: 'no answer' }
      failures.push(`party ${party}: ${kind}, ${reason}`)
      if (kind === 'share_missing') lost.push(party)
      if (kind === 'cheated' && about !== null && about !== party && answers.has(about))
        await onAccused({ keyId, epoch, party: about, accusedBy: party, reason })
    }
    const [result] = results.values()
    if (lost.length > 0) {
      const message = `Party ${lost.join(' and ')} has lost its share of this key: request its recovery first.`
      throw new Conflict('mpc_share_lost', message)
    }
    if (failures.length === 0 && results.size === 1 && result !== undefined) return result
    const reason = failures.length > 0 ? failures.join('; ') : 'the parties have different results'
    throw new Unavailable(
      'mpc_ceremony_failed',
      `The parties did not all finish (${reason}). The ceremony starts again.`,
    )
  }

  function helpersOf(
    parties: readonly number[],
    threshold: number,
    target: number,
    banned: readonly number[],
  ): number[] {
    const here = coordinator.reachable()
    const able = parties.filter((party) => party !== target && here.includes(party) && !banned.includes(party))
    if (able.length < threshold) throw partiesUnavailable(parties.filter((party) => !able.includes(party)))
    return able.slice(0, threshold)
  }

  return {
    async generateKey({ keyId, threshold, parties }) {
      const begin = { ceremony: 'generate', keyId, threshold, parties } as const
      const publicKey = await agreed(keyId, null, await coordinator.ask(parties, begin, { timeoutMs }))
      return { publicKey: `0x${Buffer.from(publicKey).toString('hex')}`, address: publicKeyAddress(publicKey) }
    },

    async prepareRefresh({ key: { keyId, epoch, parties }, refreshId }) {
      const begin = { ceremony: 'refresh', keyId, refreshId, parties, repaired: null } as const
      await agreed(keyId, epoch, await coordinator.ask(parties, begin, { timeoutMs }))
    },

    async prepareRecovery({ key: { keyId, epoch, parties, threshold, banned }, party: target, refreshId }) {
      const helpers = helpersOf(parties, threshold, target, banned)
      const repair = { ceremony: 'repair', keyId, refreshId, target, helpers } as const
      await agreed(keyId, epoch, await coordinator.ask([...helpers, target], repair, { timeoutMs }))
      const refresh = { ceremony: 'refresh', keyId, refreshId, parties, repaired: target } as const
      await agreed(keyId, epoch, await coordinator.ask(parties, refresh, { timeoutMs }))
    },
  }
}
