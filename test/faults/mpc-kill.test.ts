/** A party is killed in every round of a signature, while nobody can do without it. Every transfer is on chain once. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseEther } from 'ethers'
import t from 'tap'
import { KIND } from '../../src/keys/mpc/protocol.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { type MpcStage, withMpcStage } from '../support/mpc-stage.ts'
import { RECIPIENT } from '../support/service-stage.ts'

const ENTRY = fileURLToPath(new URL('../support/dying-party.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The party that dies. Of the others one is away while it signs, so that nobody can do without it. */
const VICTIM = 2
const SIGNING_ROUNDS = [1, 2, 3]

type Death = { readonly kind: number; readonly round: number }

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)], env: { MPC_ROUND_TIMEOUT_MS: '10000' } })

/** Runs the victim until it dies in its place, then runs it as it should be. */
async function dieOnce(stage: MpcStage, death: Death, cause: () => Promise<unknown>): Promise<void> {
  await stage.parties.stop(VICTIM)
  const child = spawn(process.execPath, [...process.execArgv, ENTRY, JSON.stringify(death)], {
    cwd: ROOT,
    env: { ...process.env, ...envOf(stage) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = untilKilled(child)
  await cause()
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
    DATABASE_URL: config.databaseUrl ?? '',
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
  }
}

t.test('killed in a round of a signature: every transfer is on chain once', async (t) => {
  const [wallet] = stage.wallets
  if (wallet === undefined) throw new Error('there is no wallet')
  const before = BigInt((await stage.rpc('eth_getBalance', RECIPIENT, 'latest')) as string)
  await stage.parties.stop(3)
  const sent: string[] = []
  for (const round of SIGNING_ROUNDS) {
    await dieOnce(stage, { kind: KIND.signingRound, round }, async () => {
      for (let count = 0; count < 3; count += 1) sent.push(await stage.send(wallet, '0.01'))
    })
    for (const id of sent) await stage.until(wallet, id, 'submitted', 'mined', 'confirmed')
  }
  await stage.parties.start(3)
  await stage.settle()
  const states = await Promise.all(sent.map(async (id) => (await stage.read(wallet, id)).state))
  t.strictSame(new Set(states), new Set(['confirmed']))
  const after = BigInt((await stage.rpc('eth_getBalance', RECIPIENT, 'latest')) as string)
  t.equal(after - before, parseEther('0.01') * BigInt(sent.length), `${sent.length} transfers, each once`)
})

t.end()
