/**
 * A coordinator that withholds the end of refreshes, with the signer's database login that records them: the log names
 * shares that only one party has.
 */
import type { Test } from 'tap'
import { newId } from '../../src/compose/new-id.ts'
import { REFRESH_ROUNDS } from '../../src/keys/mpc/party-session.ts'
import { type Begin, KIND } from '../../src/keys/mpc/protocol.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import type { MpcKeyEvent } from '../../src/mpc-wallets/events.ts'
import { forge, logOf } from './forge.ts'
import { goldenShares } from './golden-shares.ts'
import { changedChannel } from './mpc-channel-faults.ts'
import { storeOf } from './mpc-parties.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from './mpc-stage.ts'
import { eventually } from './sandbox-eventually.ts'

const AT = '2026-01-01T00:00:00.000Z'
const FORGED = newId('refresh')
export const ALL = [1, 2, 3] as const
const metadata = { tenantId: 'acme', actor: 'worker:signer' }

export const requested: MpcKeyEvent = {
  type: 'MpcSharesRefreshRequested',
  data: { refreshId: FORGED, reason: 'scheduled', party: null, requestedAt: AT },
}
export const refreshed = (epoch: number, attemptId: string): MpcKeyEvent => ({
  type: 'MpcSharesRefreshed',
  data: { epoch, refreshId: FORGED, attemptId, reason: 'scheduled', party: null, refreshedAt: AT },
})

export async function withWithheldRefreshes(t: Test) {
  const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)] })
  const puppeteer = await withPuppeteer(t, stage)
  const { parties, service } = stage
  const [wallet] = stage.wallets as [MpcWallet]
  const { keyId } = wallet
  const signersLog = logOf(t, service.urlAs('signer'), service.kernel.wakeUps)

  async function start(...[number, connect]: Parameters<typeof parties.start>): Promise<void> {
    await parties.start(number, connect)
    await eventually(() => puppeteer.reachable().includes(number))
  }

  return {
    stage,
    wallet,
    start,
    append: (...events: readonly MpcKeyEvent[]) => forge(signersLog, mpcKeyAggregate, keyId, events, { metadata }),

    /** The generations that each party holds. */
    async held(): Promise<(readonly string[])[]> {
      const stores = await Promise.all(parties.places.map(storeOf))
      return stores.map((store) => store.list().find((each) => each.keyId === keyId)?.generations ?? [])
    },

    /** A refresh of which only one party sees the end. Returns what this one answers. */
    async prepareAlone(number: number, refreshId: string) {
      await parties.stop(number)
      await start(
        number,
        changedChannel(number, ({ message, frame }) =>
          message.kind === KIND.ceremonyRound && message.round === REFRESH_ROUNDS ? [] : [frame],
        ),
      )
      const begin = { ceremony: 'refresh', keyId, refreshId, parties: ALL, repaired: null } as const
      const enough = (answers: ReadonlyMap<number, unknown>) => answers.has(number)
      const answers = await puppeteer.ask(ALL, begin, { timeoutMs: 60_000, enough })
      await parties.stop(number) // The others stop waiting for it.
      await start(number)
      return answers.get(number)
    },

    async refusedBy(number: number, begin: Begin) {
      const [outcome] = (await puppeteer.ask(ALL, begin, { timeoutMs: 60_000 })).get(number) ?? []
      return outcome?.ok === false ? outcome.refusal : undefined
    },

    /** As the coordinator does after a refresh; each party has looked at the log when this resolves. */
    async settle(): Promise<void> {
      puppeteer.settle(keyId)
      await new Promise((resolve) => setTimeout(resolve, 2_000))
    },
  }
}
