/**
 * Parties inside the test's process, each with its own directory, key, engine and connections, on fixed ports: the test
 * starts, stops and corrupts them.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Test } from 'tap'
import { composeKernel } from '../../src/compose/kernel.ts'
import { startMpcParty } from '../../src/compose/mpc-party.ts'
import { newId } from '../../src/compose/new-id.ts'
import type { Config } from '../../src/config.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { parseKek } from '../../src/keys/kek.ts'
import { openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { openShareStore, type ShareStore } from '../../src/keys/mpc/share-store.ts'
import { shareFacts } from '../../src/keys/mpc/sign-together.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { keptLog, type LogLine } from './kept-log.ts'
import { temporaryDirectory } from './mpc-processes.ts'
import { type RunningWorker, runWorker } from './service-local.ts'

export type PartyPlace = { readonly number: number; readonly directory: string; readonly key: string }

export type PartyPlan = {
  /** For every process of the service. */
  readonly env: Readonly<Record<string, string>>
  readonly places: readonly PartyPlace[]
}

/**
 * The places of parties, before any of them runs.
 *
 * @param directories of parties whose shares are at a place that the test chose
 */
export async function planParties(
  t: Test,
  count: number,
  directories: ReadonlyMap<number, string> = new Map(),
): Promise<PartyPlan> {
  const directory = await temporaryDirectory(t)
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const addresses: string[] = []
  for (const number of numbers) addresses.push(`${number}=127.0.0.1:${await freePort()}`)
  return {
    env: {
      SANDBOX: 'true', // Each process publishes its own certificate.
      MPC_PARTIES: String(count),
      MPC_POOL_SIZE: '0',
      MPC_PARTY_ADDRESSES: addresses.join(','),
      MPC_TRUST_DIR: join(directory, 'trust'),
      MPC_ROUND_TIMEOUT_MS: '5000',
    },
    places: numbers.map((number) => ({
      number,
      directory: directories.get(number) ?? join(directory, `party-${number}`),
      key: randomBytes(32).toString('base64'),
    })),
  }
}

/** The additional configuration of a party process. */
function partyConfig(config: Config, place: PartyPlace): Config {
  if (config.mpc === null) throw new Error('the service has no parties')
  return { ...config, mpc: { ...config.mpc, party: place } }
}

/** The share store of a stopped party. */
export function storeOf({ number, directory, key }: PartyPlace): Promise<ShareStore> {
  return openShareStore({ directory, party: number, kek: parseKek(key) })
}

/** Gives the parties recorded shares, and the log their key, which is then in the pool. Returns its id. */
export async function adoptKey(
  log: EventLog,
  places: readonly PartyPlace[],
  shares: readonly Uint8Array[],
): Promise<string> {
  const [first] = shares
  if (first === undefined) throw new Error('a key has shares')
  const { threshold, parties, address, publicKey: bytes } = shareFacts(first)
  const publicKey = `0x${Buffer.from(bytes).toString('hex')}`
  const keyId = newId('mpcKey')
  for (const [index, share] of shares.entries()) {
    const store = await storeOf(places[index] as PartyPlace)
    await store.prepare(keyId, 'generated', share, { threshold, parties, publicKey, address })
  }
  const generated = {
    publicKey,
    address,
    threshold,
    parties: shares.map((_, index) => index + 1),
    generatedAt: log.now(),
  }
  const metadata = { tenantId: 'system', actor: 'worker:signer' }
  await log.execute(mpcKeyAggregate, keyId, { type: 'RecordGeneration', generated }, { metadata })
  return keyId
}

export type Parties = {
  readonly places: readonly PartyPlace[]
  /** @param connect replacement of the real channel */
  readonly start: (number: number, connect?: typeof openChannel) => Promise<void>
  readonly stop: (number: number) => Promise<void>
  /** The log lines of all of them, since the first start. */
  readonly lines: readonly (LogLine & { readonly party: number })[]
}

/** None runs yet; all are removed after the test. */
export function withParties(t: Test, config: Config, places: readonly PartyPlace[]): Parties {
  const running = new Map<number, RunningWorker>()
  const lines: (LogLine & { readonly party: number })[] = []

  async function stop(number: number): Promise<void> {
    const party = running.get(number)
    running.delete(number)
    await party?.stop()
  }
  t.after(() => Promise.all(places.map(({ number }) => stop(number))))

  return {
    places,
    lines,
    stop,
    async start(number, connect = openChannel) {
      const place = places[number - 1]
      if (place === undefined) throw new Error(`there is no party ${number}`)
      const { logger } = keptLog((line) => void lines.push({ ...line, party: number }))
      const kernel = { ...composeKernel(partyConfig(config, place), `mpc-party-${number}`), logger }
      running.set(number, await runWorker(kernel, (each, signal) => startMpcParty(each, signal, connect)))
    },
  }
}
