/**
 * A coordinator that withholds the end of refreshes, with the signer's database login that records them: the log names
 * shares that only one party has. No party removes older shares then, and the key stays usable.
 */
import t from 'tap'
import { newId } from '../../src/compose/new-id.ts'
import { REFRESH_ROUNDS } from '../../src/keys/mpc/party-session.ts'
import { type Begin, KIND } from '../../src/keys/mpc/protocol.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import type { MpcKeyEvent } from '../../src/mpc-wallets/events.ts'
import { forge, logOf } from '../support/forge.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { changedChannel } from '../support/mpc-channel-faults.ts'
import { storeOf } from '../support/mpc-parties.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const AT = '2026-01-01T00:00:00.000Z'
const FORGED = newId('refresh')
const ALL = [1, 2, 3] as const
const metadata = { tenantId: 'acme', actor: 'worker:signer' }

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)] })
const puppeteer = await withPuppeteer(t, stage)
const { parties, service } = stage
const [wallet] = stage.wallets as [MpcWallet]
const { keyId } = wallet
const signersLog = logOf(t, service.urlAs('signer'), service.kernel.wakeUps)
const append = (...events: readonly MpcKeyEvent[]) => forge(signersLog, mpcKeyAggregate, keyId, events, { metadata })

const requested = (refreshId: string): MpcKeyEvent => ({
  type: 'MpcSharesRefreshRequested',
  data: { refreshId, reason: 'scheduled', party: null, requestedAt: AT },
})
const refreshed = (epoch: number, attemptId: string): MpcKeyEvent => ({
  type: 'MpcSharesRefreshed',
  data: { epoch, refreshId: FORGED, attemptId, reason: 'scheduled', party: null, refreshedAt: AT },
})

/** The generations that each party holds. */
async function held(): Promise<(readonly string[])[]> {
  const stores = await Promise.all(parties.places.map(storeOf))
  return stores.map((store) => store.list().find((each) => each.keyId === keyId)?.generations ?? [])
}

async function start(...[number, connect]: Parameters<typeof parties.start>): Promise<void> {
  await parties.start(number, connect)
  await eventually(() => puppeteer.reachable().includes(number))
}

/** A refresh of which only one party sees the end. */
async function prepareAlone(number: number, refreshId: string): Promise<void> {
  await parties.stop(number)
  await start(
    number,
    changedChannel(number, ({ message, frame }) =>
      message.kind === KIND.ceremonyRound && message.round === REFRESH_ROUNDS ? [] : [frame],
    ),
  )
  const begin = { ceremony: 'refresh', keyId, refreshId, parties: ALL, repaired: null } as const
  const enough = (answers: ReadonlyMap<number, unknown>) => answers.has(number)
  t.match((await puppeteer.ask(ALL, begin, { timeoutMs: 60_000, enough })).get(number), [{ ok: true }])
  await parties.stop(number) // The others stop waiting for it.
  await start(number)
}

async function refusedBy(number: number, begin: Begin) {
  const [outcome] = (await puppeteer.ask(ALL, begin, { timeoutMs: 60_000 })).get(number) ?? []
  return outcome?.ok === false ? outcome.refusal : undefined
}

/** As the coordinator does after a refresh; each party has looked at the log when this resolves. */
async function settle(): Promise<void> {
  puppeteer.settle(keyId)
  await new Promise((resolve) => setTimeout(resolve, 2_000))
}

t.test('shares that the log names and only one party holds replace no older ones', async (t) => {
  await service.stopWorker('signer')
  await append(requested(FORGED))
  await prepareAlone(1, 'rfr_x')
  await prepareAlone(2, 'rfr_y')
  t.strictSame(await held(), [['generated', 'rfr_x'], ['generated', 'rfr_y'], ['generated']])
  const again = { ceremony: 'refresh', keyId, refreshId: 'rfr_x', parties: ALL, repaired: null } as const
  t.match(
    await refusedBy(1, again),
    { kind: 'invalid' },
    'an attempt under the same id would give shares that do not fit',
  )
  t.strictSame((await held()).slice(1), [['generated', 'rfr_y'], ['generated']])
  await append(refreshed(1, 'rfr_x'))
  await settle()
  await append(refreshed(2, 'rfr_y'))
  await settle()
  for (const number of ALL) await parties.stop(number)
  for (const number of ALL) await start(number) // Each looks at all its shares.
  await settle()
  t.strictSame(await held(), [['generated', 'rfr_x'], ['generated', 'rfr_y'], ['generated']])
})

t.test('the next refresh begins with the shares that all parties hold, and the wallet signs again', async (t) => {
  await service.startWorker('signer')
  await stage.connected(...ALL)
  const path = `/v1/wallets/${wallet.id}/shares`
  const refresh = { method: 'POST', path: `${path}/refresh`, key: 'again', prefer: 'respond-async' } as const
  t.equal((await service.api.insist(refresh)).status, 202)
  const shares = async () => (await service.api.insist({ path })).body.data
  await eventually(async () => (await shares()).epoch === 3)
  t.match(await shares(), { open_refresh: null, last_refresh: { status: 'refreshed' } })
  const { attemptId } = (await stage.keyEvents(keyId)).at(-1)?.data ?? {}
  await eventually(async () => (await held()).flat().length === ALL.length)
  t.strictSame(await held(), [[attemptId], [attemptId], [attemptId]], 'the older shares are removed now')
  await stage.until(wallet, await stage.send(wallet, '1'), 'submitted')
})

t.end()
