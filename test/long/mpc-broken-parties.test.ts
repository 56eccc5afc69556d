/**
 * Parties that are broken, or cheat: one that fails a check of the others is banned until its shares are refreshed, one
 * with foreign files does not use them, and one with a full disk keeps what it had.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { newId } from '../../src/compose/new-id.ts'
import type { openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { type ItemOutcome, KIND } from '../../src/keys/mpc/protocol.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { TAG_KEY } from '../support/config.ts'
import { mountSmallDisk } from '../support/full-disk.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { changedChannel, type Outgoing, withFlippedBit } from '../support/mpc-channel-faults.ts'
import { storeOf } from '../support/mpc-parties.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain } from '../support/service-stage.ts'

const disk = await mountSmallDisk(t, 8)
const stage = await withMpcStage(t, {
  keys: [goldenShares(2, 3), goldenShares(2, 2)],
  directories: new Map(disk === undefined ? [] : [[2, join(disk.directory, 'party-2')]]),
})
const puppeteer = await withPuppeteer(t, stage)
const [ofThree, ofTwo] = stage.wallets as [MpcWallet, MpcWallet]
const { parties, service, send, until, settle } = stage

const metricsOf = () => service.workerOf('signer').metrics.registry.metrics()
/** Reasons that a slow machine may cause: another party of the session, or a later session, signs. */
const OF_A_SLOW_MACHINE = ['busy', 'given_up', 'stalled', 'unavailable']
const refusedSignatures = () =>
  service.lines
    .filter(({ msg, kind }) => msg === 'a party did not sign' && !OF_A_SLOW_MACHINE.includes(String(kind)))
    .map(({ party, kind }) => ({ party, kind }))
const kindOf = ([first]: readonly ItemOutcome[] = []) => (first === undefined || first.ok ? 'done' : first.refusal.kind)

async function restart(number: number, connect?: typeof openChannel): Promise<void> {
  await parties.stop(number)
  await parties.start(number, connect)
  await eventually(() => puppeteer.reachable().includes(number))
  await stage.connected(number)
}

t.test('a repeated accusation by one party changes nothing', async (t) => {
  const sent: Outgoing[] = []
  await restart(
    3,
    changedChannel(3, (outgoing) => {
      if (outgoing.message.kind !== KIND.signingRound) return [outgoing.frame]
      // Its messages of every earlier session, and this one twice.
      const old = sent.filter(({ to }) => to === outgoing.to).map(({ frame }) => frame)
      sent.push(outgoing)
      return [outgoing.frame, ...old, outgoing.frame]
    }),
  )
  for (let index = 0; index < 4; index += 1) await send(ofThree, '1')
  await settle()
  t.equal((await onChain(stage, ofThree)).length, 4)
  t.ok(sent.length > 0, `the party sent ${sent.length} messages`)
  t.strictSame(refusedSignatures(), [], 'no party refused a message')
})

const eventsOf = async (type: string) =>
  (await stage.keyEvents(ofThree.keyId)).filter((event) => event.type === type).map(({ data }) => data)

t.test(
  'a party that fails a check no longer signs with the reporting party, and is banned after a second report',
  async (t) => {
    await restart(
      3,
      changedChannel(3, (outgoing) => {
        const { kind, round } = outgoing.message
        return [kind === KIND.signingRound && round === 1 ? withFlippedBit(outgoing, 9_000) : outgoing.frame]
      }),
    )
    const accusedBy = async () => (await eventsOf('MpcPartyAccused')).map((data) => data.accusedBy as number)
    await eventually(async () => {
      await send(ofThree, '0.1')
      await settle()
      return (await accusedBy()).length > 0
    })
    const [first] = await accusedBy()
    if ((await accusedBy()).length === 1) {
      t.strictSame(await eventsOf('MpcPartyBanned'), [], 'one accusation bans no party')
      await meetWithout(first as number)
    }
    matchExactly(t, await eventsOf('MpcPartyAccused'), [
      { party: 3, epoch: 0, accusedBy: first, reason: /OTE/ },
      { party: 3, epoch: 0, accusedBy: 3 - (first as number) },
    ])
    matchExactly(t, await eventsOf('MpcPartyBanned'), [{ party: 3, epoch: 0, reportedBy: 3 - (first as number) }])
    // Counted and logged once the event is in the log.
    await eventually(async () => /^bursar_mpc_bans_total\{party="3",process="signer"\} 1$/m.test(await metricsOf()))
    const alarms = await eventually(() => {
      const lines = service.lines.filter(({ msg }) => /failed a check/.test(msg))
      return lines.length === 3 && lines
    })
    const fields = { level: 50, party: 3, key_id: ofThree.keyId }
    matchExactly(t, alarms, [fields, fields, { ...fields, msg: /is banned from signing/ }])
    const ofBanned = () => service.lines.filter(({ msg, party }) => msg === 'a party did not sign' && party === 3)
    const refusals = ofBanned().length
    for (let index = 0; index < 4; index += 1) await send(ofThree, '0.1')
    await settle()
    t.equal(ofBanned().length, refusals, 'the banned party is not asked to sign')
  },
)

/** Without the first accuser only the other honest party can sign with the cheating one. */
async function meetWithout(first: number): Promise<void> {
  await parties.stop(first)
  await send(ofThree, '0.1')
  await eventually(async () => (await eventsOf('MpcPartyBanned')).length > 0)
  await parties.start(first)
  await eventually(() => puppeteer.reachable().includes(first))
  await stage.connected(first)
  await settle()
}

t.test('neither a coordinator nor a restart makes other parties sign with a banned party', async (t) => {
  await restart(1)
  await service.stopWorker('signer')
  const id = await send(ofThree, '0.1')
  const transaction = {
    ...{
      chainId: 1_000_001,
      nonce: 99,
      to: '0x00000000000000000000000000000000b0b5ade0',
      value: 10n ** 17n,
      data: '0x',
    },
    ...{ gasLimit: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n },
  }
  const items = [
    { keyId: ofThree.keyId, intent: { kind: 'transaction', id }, subject: { kind: 'transaction', transaction } },
  ] as const
  const begin = { ceremony: 'sign', signers: [1, 3], finisher: 3, items } as const
  const answers = await puppeteer.ask([1, 3], begin, { timeoutMs: 60_000 })
  matchExactly(t, answers.get(1), [{ ok: false, refusal: { kind: 'banned', party: 3 } }])
  await service.startWorker('signer')
  await stage.connected(1, 2, 3)
})

t.test('new shares lift the ban', async (t) => {
  await restart(3)
  const path = `/v1/wallets/${ofThree.id}/shares`
  const { banned, accusations } = (await service.api.insist({ path })).body.data
  t.strictSame(banned, [3])
  t.strictSame(
    accusations.map(({ party }: { party: number }) => party),
    [3, 3],
  )
  t.equal((await service.api.send(`${path}/refresh`)).status, 202)
  matchExactly(t, await service.api.until(path, ({ epoch }) => epoch === 1), { banned: [], accusations: [] })
  await parties.stop(2)
  await until(ofThree, await send(ofThree, '0.1'), 'submitted')
  await parties.start(2)
  await stage.connected(2)
})

t.test("another wallet's share in the place of a party's own is not used, and the others sign", async (t) => {
  const place = parties.places[0]
  if (place === undefined) throw new Error('no party 1')
  const folder = join(place.directory, 'shares')
  const fileOf = async (keyId: string) =>
    join(folder, (await readdir(folder)).find((name) => name.startsWith(`${keyId}.`)) ?? '')
  await parties.stop(1)
  const [own, foreign] = [await fileOf(ofThree.keyId), await fileOf(ofTwo.keyId)]
  await copyFile(own, `${own}.kept`)
  await copyFile(foreign, own)
  await parties.start(1)
  await stage.connected(1)
  const before = refusedSignatures().length
  // Without another one, the party with the foreign share is asked.
  await parties.stop(2)
  const id = await send(ofThree, '0.1')
  await eventually(() => refusedSignatures().length > before)
  await parties.start(2)
  await stage.connected(2)
  await until(ofThree, id, 'submitted', 'confirmed')
  const causes = refusedSignatures().slice(before)
  t.strictSame(new Set(causes.map(({ party, kind }) => `${party} ${kind}`)), new Set(['1 share_missing']))
  await parties.stop(1)
  await copyFile(`${own}.kept`, own)
  await parties.start(1)
  await stage.connected(1)
})

t.test('a party that is given another key-encryption key does not start, and says why in one line', async (t) => {
  const { config } = service.kernel
  const { mpc, chains } = config
  const [place] = parties.places
  await parties.stop(1)
  const addresses = [...(mpc?.addresses ?? [])].map(([number, { host, port }]) => `${number}=${host}:${port}`)
  const entry = fileURLToPath(new URL('../../workers/mpc-party.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', entry], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: service.urlAs('party'),
      ETHEREUM_RPC_URLS: chains[0]?.rpcUrls.join(','),
      MPC_PARTY: '1',
      MPC_PARTY_DIR: place?.directory,
      MPC_PARTY_KEY: Buffer.alloc(32, 7).toString('base64'),
      TRANSACTION_TAG_KEY: TAG_KEY,
      MPC_PARTY_ADDRESSES: addresses.join(','),
      MPC_TRUST_DIR: mpc?.trustDir,
      LOG_LEVEL: 'fatal',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  t.equal(code, 1)
  t.match(complaint, /^[^\n]*encrypted with key [^\n]*\n$/)
  await parties.start(1)
  await stage.connected(1)
})

t.test(
  'a ceremony on a full disk leaves nothing usable, the old shares work, and with space it succeeds',
  async (t) => {
    if (disk === undefined)
      return void t.pass('a full disk', { skip: 'NOT TESTED: mounting a small file system takes root' })
    const [first, second] = parties.places
    if (first === undefined || second === undefined) throw new Error('no parties')
    const generations = async (keyId: string) =>
      (await storeOf(second)).list().find((key) => key.keyId === keyId)?.generations
    await eventually(() => puppeteer.reachable().length === 3)
    // The log contains what the test requests from the parties, and nobody else requests it.
    await service.stopWorker('signer')
    const { log } = service.kernel
    const metadata = { tenantId: 'acme', actor: 'test' }
    const now = log.now()
    const refreshing = {
      type: 'RequestRefresh',
      refreshId: 'rfr_asked',
      reason: 'requested',
      party: null,
      now,
    } as const
    await log.execute(mpcKeyAggregate, ofTwo.keyId, refreshing, { metadata })
    const terms = { threshold: 2, parties: 2 }
    const place = { network: 'ethereum', environment: 'mainnet', chainId: 1_000_001 } as const
    const waiting = { ...place, type: 'mpc', label: '', externalId: null, mpc: terms, requestedAt: now } as const
    await log.execute(walletAggregate, newId('wallet'), { type: 'RequestWallet', request: waiting }, { metadata })
    await disk.fill()
    const refresh = {
      ceremony: 'refresh',
      keyId: ofTwo.keyId,
      refreshId: 'rfr_full',
      parties: [1, 2],
      repaired: null,
    } as const
    const generate = { ceremony: 'generate', keyId: 'mpk_full', threshold: 2, parties: [1, 2] } as const
    for (const begin of [refresh, generate]) {
      const answers = await puppeteer.ask([1, 2], begin, { timeoutMs: 60_000 })
      t.strictSame([kindOf(answers.get(1)), kindOf(answers.get(2))], ['done', 'unavailable'], begin.ceremony)
    }
    t.strictSame(await generations(ofTwo.keyId), ['generated'])
    t.equal(await generations('mpk_full'), undefined)
    t.notOk((await readdir(join(second.directory, 'shares'))).some((name) => name.endsWith('.tmp')))
    await disk.empty()
    await service.startWorker('signer')
    await until(ofTwo, await send(ofTwo, '1'), 'submitted')
    const path = `/v1/wallets/${ofTwo.id}/shares`
    await service.api.until(path, ({ epoch }) => epoch === 1)
    await until(ofTwo, await send(ofTwo, '1'), 'submitted')
    const answers = await puppeteer.ask([1, 2], signWith('mpk_full'), { timeoutMs: 60_000 })
    t.strictSame([kindOf(answers.get(1)), kindOf(answers.get(2))], ['key_unknown', 'key_unknown'])
  },
)

/** A request to sign with a key that is not in the log. */
function signWith(keyId: string) {
  const message = { kind: 'message', message: Buffer.from('hi') } as const
  return {
    ceremony: 'sign',
    signers: [1, 2],
    finisher: 1,
    items: [{ keyId, intent: { kind: 'signature', id: 'sig_0' }, subject: message }],
  } as const
}

t.end()
