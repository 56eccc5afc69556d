/**
 * Parties that are away, hang, or prevent others from signing: any two of three sign, and with fewer nothing is lost. A
 * refresh waits for all of them.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { CHECK_LIMITS } from '../../src/keys/mpc/check-counts.ts'
import { encodeMessage } from '../../src/keys/mpc/message.ts'
import { partyNumber } from '../../src/keys/mpc/party-names.ts'
import { decodeOutcome, encodeOutcome, KIND } from '../../src/keys/mpc/protocol.ts'
import { DOUBTFUL_MS } from '../../src/keys/mpc/signer-choice.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { changedChannel } from '../support/mpc-channel-faults.ts'
import { storeOf } from '../support/mpc-parties.ts'
import { type MpcStage, type MpcWallet, withMpcStage } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain } from '../support/service-stage.ts'

/** Longer than a lane takes to sign when it can. */
const WHILE_MS = 1_500
/** A signer's concurrent sessions: at most this many include a faulty party before it is avoided. */
const SESSIONS_AT_ONCE = 4
const stage = await withMpcStage(t, {
  keys: [goldenShares(2, 3), goldenShares(2, 2)],
  // Longer than an honest party is ever silent, even on a busy machine: only the hanging one is suspected.
  env: { MPC_ROUND_TIMEOUT_MS: '10000' },
})
const [ofThree, ofTwo] = stage.wallets as [MpcWallet, MpcWallet]

async function sendSome({ send }: MpcStage, wallet: MpcWallet, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) ids.push(await send(wallet, '0.5'))
  return ids
}

async function noncesOf(wallet: MpcWallet, ids: readonly string[]): Promise<(number | null)[]> {
  return Promise.all(ids.map(async (id) => (await stage.read(wallet, id)).nonce))
}

t.test(
  'with one of three parties down transfers go on; with two down they wait, and go on when one is back',
  async (t) => {
    const { parties, until, read } = stage
    await parties.stop(3)
    const first = await sendSome(stage, ofThree, 3)
    for (const id of first) await until(ofThree, id, 'submitted')
    await parties.stop(2)
    const second = await sendSome(stage, ofThree, 3)
    await new Promise((resolve) => setTimeout(resolve, WHILE_MS))
    for (const id of second) t.equal((await read(ofThree, id)).state, 'requested', 'no answer is not a refusal')
    await parties.start(3)
    for (const id of second) await until(ofThree, id, 'submitted')
    await parties.start(2)
    await stage.settle()
    t.strictSame(await noncesOf(ofThree, [...first, ...second]), [0, 1, 2, 3, 4, 5], 'nonces are in acceptance order')
    const mined = await onChain(stage, ofThree)
    t.strictSame(
      mined.map(({ nonce }) => nonce),
      [0, 1, 2, 3, 4, 5],
      'each transfer is on chain once',
    )
  },
)

t.test('a party that hangs in a session is not waited for a second time', async (t) => {
  const { parties, settle, read } = stage
  await parties.stop(1)
  const sessions = new Set<string>()
  const began = Date.now()
  const silent = changedChannel(1, ({ frame, message }) => {
    if (message.kind !== KIND.signingRound) return [frame]
    sessions.add(message.session)
    return []
  })
  await parties.start(1, silent)
  await stage.connected(1, 2, 3)
  const ids = await sendSome(stage, ofThree, 8)
  await settle()
  for (const id of ids) t.equal((await read(ofThree, id)).state, 'confirmed')
  t.ok(sessions.size > 0, `the silent party was asked in ${sessions.size} sessions`)
  const doubts = 1 + Math.floor((Date.now() - began) / DOUBTFUL_MS)
  t.ok(sessions.size <= SESSIONS_AT_ONCE * doubts, `the silent party is avoided after ${sessions.size} sessions`)
  const named = stage.service.lines.filter(({ msg, kind }) => msg === 'a party did not sign' && kind === 'stalled')
  t.ok(named.length > 0, 'the log names the stalled party')
  await parties.stop(1)
  await parties.start(1)
})

t.test('a refresh waits for a missing party; then every party deletes its old shares', async (t) => {
  const { parties, service, send, until } = stage
  await parties.stop(2)
  const path = `/v1/wallets/${ofTwo.id}/shares`
  const asked = await service.api.insist({ method: 'POST', path: `${path}/refresh`, key: 'refresh', prefer: 'wait=1' })
  t.match(asked, { status: 202, body: { data: { status: 'pending', epoch: 0 } } })
  const waiting = await send(ofTwo, '1')
  await parties.start(2)
  await service.api.until(path, ({ epoch }) => epoch === 1)
  await until(ofTwo, waiting, 'submitted')
  const after = await send(ofTwo, '1')
  await until(ofTwo, after, 'submitted')
  await stage.settle()
  t.equal((await onChain(stage, ofTwo)).length, 2)
  const [, , refreshed] = (await stage.keyEvents(ofTwo.keyId))
    .filter(({ type }) => type !== 'MpcSharesRefreshFailed')
    .slice(-3)
  t.match(refreshed, { type: 'MpcSharesRefreshed', data: { epoch: 1 } })
  const attempt = refreshed?.data.attemptId
  const places = parties.places.slice(0, 2)
  await eventually(async () => {
    const held = await Promise.all(places.map(async (place) => (await storeOf(place)).list()))
    const ofKey = held.map((list) => list.find(({ keyId }) => keyId === ofTwo.keyId)?.generations)
    return ofKey.every((generations) => generations?.join() === attempt)
  })
})

const refusals = () => stage.service.lines.filter(({ msg }) => msg === 'a party did not sign')
const sharesOf = async (wallet: MpcWallet) =>
  (await stage.service.api.insist({ path: `/v1/wallets/${wallet.id}/shares` })).body.data

t.test('a share at its limit of checks is refreshed, and the other parties sign meanwhile', async (t) => {
  const { parties, until, send } = stage
  await parties.stop(1)
  const checks = join(parties.places[0]?.directory ?? '', 'checks', `${ofThree.keyId}.generated.checks`)
  await writeFile(checks, `${CHECK_LIMITS.most}\n`)
  await parties.start(1)
  await stage.connected(1)
  await eventually(async () => {
    await until(ofThree, await send(ofThree, '0.1'), 'submitted', 'confirmed')
    return refusals().some(
      ({ party, kind, key_id: keyId }) => party === 1 && kind === 'worn' && keyId === ofThree.keyId,
    )
  })
  await eventually(async () => (await sharesOf(ofThree)).epoch === 1)
  t.match(await sharesOf(ofThree), { last_refresh: { reason: 'scheduled', status: 'refreshed' } })
})

/** Sends malformed messages, and accuses every co-signer of cheating. */
function slandering(party: number) {
  const partners = new Map<string, number>()
  return changedChannel(party, ({ message, to, frame }) => {
    if (message.kind === KIND.signingRound) {
      partners.set(message.session, partyNumber(to) ?? 0)
      return [encodeMessage({ ...message, payload: Uint8Array.of(0) })]
    }
    const about = partners.get(message.session)
    if (message.kind !== KIND.outcome || about === undefined) return [frame]
    const lie = { ok: false, refusal: { kind: 'cheated', party: about, reason: 'a lie' } } as const
    const outcome = (decodeOutcome(message.payload) ?? []).map(() => lie)
    return [encodeMessage({ ...message, payload: encodeOutcome(outcome) })]
  })
}

t.test('a party that accuses all others causes no ban, and the honest ones sign', async (t) => {
  const { parties, until, send } = stage
  await parties.stop(1)
  await parties.start(1, slandering(1))
  await stage.connected(1)
  const events = async (type: string) => (await stage.keyEvents(ofThree.keyId)).filter((event) => event.type === type)
  await eventually(async () => {
    await until(ofThree, await send(ofThree, '0.1'), 'submitted', 'confirmed')
    return (await events('MpcPartyAccused')).length > 0
  })
  for (const id of await sendSome(stage, ofThree, 4)) await until(ofThree, id, 'submitted', 'confirmed')
  const accusations = (await events('MpcPartyAccused')).map(({ data }) => data)
  t.ok(accusations.every(({ accusedBy, reason }) => accusedBy === 1 && reason === 'a lie'))
  t.strictSame(await events('MpcPartyBanned'), [])
  // One for each party that signed with it since.
  const others = new Set(accusations.map(({ party }) => party))
  matchExactly(t, await sharesOf(ofThree), { banned: [], accusations: [...others].map(() => ({ accused_by: 1 })) })
})

t.end()
