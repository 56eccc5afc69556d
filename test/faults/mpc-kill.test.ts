/**
 * A party is killed before each of its messages while it is indispensable: in each round of a signature, a key
 * generation and a refresh. Every transfer is on chain once, every wallet has one key, all parties hold the same
 * shares.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseEther, verifyMessage } from 'ethers'
import t, { type Test } from 'tap'
import { KIND } from '../../src/keys/mpc/protocol.ts'
import { accepted } from '../support/client.ts'
import { TAG_KEY } from '../support/config.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { createWallet, type LoadWallet } from '../support/load.ts'
import { changedChannel } from '../support/mpc-channel-faults.ts'
import { storeOf } from '../support/mpc-parties.ts'
import { type MpcStage, type MpcWallet, withMpcStage } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { RECIPIENT } from '../support/service-stage.ts'

const ENTRY = fileURLToPath(new URL('../support/dying-party.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** For the threads of the party too. */
const LOADER = new URL('../support/typescript.mjs', import.meta.url).href
/** The party that is killed. One of the others is away while it signs, so that it is indispensable. */
const VICTIM = 2
const SIGNING_ROUNDS = [1, 2, 3]
const TERMS = { type: 'mpc', mpc: { threshold: 2, parties: 3 } } as const

/** The first message of a kind and a round that is not sent. */
type Death = { readonly kind: number; readonly round: number }

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)], env: { MPC_ROUND_TIMEOUT_MS: '10000' } })
const { service, parties } = stage
const [wallet] = stage.wallets as [MpcWallet]

/** Runs the victim until it is killed at its point, then runs it normally. */
async function dieOnce(
  stage: MpcStage,
  death: Death,
  cause: (ended: Promise<void>) => Promise<unknown>,
): Promise<void> {
  await stage.parties.stop(VICTIM)
  const child = spawn(process.execPath, ['--import', LOADER, ENTRY, JSON.stringify(death)], {
    cwd: ROOT,
    env: { ...process.env, ...envOf(stage) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = untilKilled(child)
  await cause(ended)
  await ended
  await stage.parties.start(VICTIM)
}

async function untilKilled(child: ChildProcess): Promise<void> {
  const [code, signal] = await once(child, 'exit')
  if (signal !== 'SIGKILL') throw new Error(`the party ended by itself: ${code ?? signal}`)
}

function envOf({ service, parties }: MpcStage): Record<string, string> {
  const { config } = service.kernel
  const place = parties.places[VICTIM - 1]
  if (config.mpc === null || config.mpc.addresses === null || place === undefined) throw new Error('no parties')
  const addresses = [...config.mpc.addresses].map(([number, { host, port }]) => `${number}=${host}:${port}`)
  return {
    SANDBOX: 'true',
    LOG_LEVEL: 'fatal',
    DATABASE_URL: service.urlAs('party'),
    DATA_DIR: config.dataDir,
    ETHEREUM_RPC_URLS: stage.url,
    ETHEREUM_CHAIN_ID: String(service.places.networks.ethereum?.chain_id),
    MPC_PARTIES: String(config.mpc.parties),
    MPC_PARTY_ADDRESSES: addresses.join(','),
    MPC_TRUST_DIR: config.mpc.trustDir,
    MPC_ROUND_TIMEOUT_MS: String(config.mpc.roundTimeoutMs),
    MPC_PARTY: String(VICTIM),
    MPC_PARTY_DIR: place.directory,
    MPC_PARTY_KEY: place.key,
    TRANSACTION_TAG_KEY: TAG_KEY,
  }
}

/** All messages of the victim in a ceremony, recorded by observing it: it can be killed before each. */
async function deathsIn(ceremony: () => Promise<unknown>): Promise<Death[]> {
  const said = new Map<string, Death>()
  const listening = changedChannel(VICTIM, ({ frame, message: { kind, round } }) => {
    said.set(`${kind}/${round}`, { kind, round })
    return [frame]
  })
  await parties.stop(VICTIM)
  await parties.start(VICTIM, listening)
  await ceremony()
  return [...said.values()]
}

/** For an Idempotency-Key. */
const keyOf = ({ kind, round }: Death) => `${kind}-${round}`
const nameOf = ({ kind, round }: Death) => (kind === KIND.outcome ? 'before it tells the outcome' : `in round ${round}`)

/** Requires that the victim and another party can sign with their shares. */
async function mustSign(t: Test, wallets: readonly LoadWallet[], key: string): Promise<void> {
  await parties.stop(3)
  for (const { id, address } of wallets) {
    const body = { message: `signed by ${id}` }
    const request = { method: 'POST', path: `/v1/wallets/${id}/sign/message`, key: `${key}-${id}`, body } as const
    const signature = await eventually(async () => (await service.api.insist(request)).body.data.signature as string)
    t.equal(verifyMessage(body.message, signature), address)
  }
  await parties.start(3)
}

t.test('after a kill in a round of a signature every transfer is on chain once', async (t) => {
  const before = BigInt((await stage.rpc('eth_getBalance', RECIPIENT, 'latest')) as string)
  await parties.stop(3)
  const sent: string[] = []
  for (const round of SIGNING_ROUNDS) {
    await dieOnce(stage, { kind: KIND.signingRound, round }, async () => {
      for (let count = 0; count < 3; count += 1) sent.push(await stage.send(wallet, '0.01'))
    })
    for (const id of sent) await stage.until(wallet, id, 'submitted', 'mined', 'confirmed')
  }
  await parties.start(3)
  await stage.settle()
  const states = await Promise.all(sent.map(async (id) => (await stage.read(wallet, id)).state))
  t.strictSame(new Set(states), new Set(['confirmed']))
  const after = BigInt((await stage.rpc('eth_getBalance', RECIPIENT, 'latest')) as string)
  t.equal(after - before, parseEther('0.01') * BigInt(sent.length), `${sent.length} transfers are paid once each`)
})

t.test('after a kill in a round of a key generation each request gets one wallet with one key', async (t) => {
  const made: LoadWallet[] = []
  const make = async (label: string) => void made.push(await createWallet(service.api, 'ethereum', label, TERMS))
  // A generation that took too long may have left a key, which the next wallet gets without a generation.
  const makeUntil = async (ended: Promise<void>, label: string) => {
    let hasEnded = false
    const end = () => {
      hasEnded = true
    }
    ended.then(end, end)
    for (let count = 1; !hasEnded; count += 1) await make(`${label}-${count}`)
  }
  const deaths = await deathsIn(() => make('new'))
  t.ok(deaths.length > 2, `the party sends ${deaths.length} messages`)
  for (const death of deaths) {
    let making: Promise<void> | undefined
    await dieOnce(stage, death, async (ended) => {
      making = makeUntil(ended, `new-${keyOf(death)}`)
    })
    await making
  }
  const count = 'SELECT count(*)::int AS keys, count(DISTINCT wallet_id)::int AS wallets FROM mpc_keys'
  const { rows } = await service.pool.query(count)
  t.strictSame(
    rows,
    [{ keys: made.length + 1, wallets: made.length + 1 }],
    'an interrupted key generation leaves no row',
  )
  await mustSign(t, made, 'signed')
})

t.test('after a kill in a round of a refresh all parties hold the shares that the log names', async (t) => {
  const refresh = async (key: string) => {
    const path = `/v1/wallets/${wallet.id}/shares/refresh`
    accepted(await service.api.send(path, undefined, key))
  }
  const refreshed = async () =>
    (await stage.keyEvents(wallet.keyId)).filter(({ type }) => type === 'MpcSharesRefreshed')
  const deaths = await deathsIn(async () => {
    await refresh('again')
    await eventually(async () => (await refreshed()).length === 1)
  })
  t.ok(deaths.length > 2, `the party sends ${deaths.length} messages`)
  for (const [index, death] of deaths.entries()) {
    await dieOnce(stage, death, () => refresh(`again-${keyOf(death)}`))
    const last = await eventually(async () => (await refreshed())[index + 1])
    for (const place of parties.places) {
      const store = await storeOf(place)
      const kept = await store.load(wallet.keyId, String(last.data.attemptId))
      t.ok(kept.share.length > 0, `killed ${nameOf(death)}: party ${place.number} holds its new share`)
    }
  }
  t.equal((await refreshed()).length, deaths.length + 1, 'each request refreshes the shares once')
  await mustSign(t, [wallet], 'signed-again')
})

t.end()
