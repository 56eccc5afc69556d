/** A party process: one holder of shares, with its own keystore, key-encryption key and database connection. */
import { ConfigError } from '../config.ts'
import { type Channel, openChannel } from '../keys/mpc/channel/open-channel.ts'
import { CHECK_LIMITS, openCheckCounts } from '../keys/mpc/check-counts.ts'
import { type DirectoryLock, lockDirectory } from '../keys/mpc/directory-lock.ts'
import { createEngineThread } from '../keys/mpc/engine-thread.ts'
import { createHeldByAll } from '../keys/mpc/held-by-all.ts'
import type { Identity } from '../keys/mpc/identity.ts'
import { createLoadedShares } from '../keys/mpc/loaded-shares.ts'
import { createParty, type PartyObserver } from '../keys/mpc/party.ts'
import { openPartyBans } from '../keys/mpc/party-bans.ts'
import { createPartyCeremonies } from '../keys/mpc/party-ceremonies.ts'
import { COORDINATOR, partyName, partyNumber } from '../keys/mpc/party-names.ts'
import { settleShares } from '../keys/mpc/settle-shares.ts'
import { openShareStore } from '../keys/mpc/share-store.ts'
import { createSigningGuard } from '../keys/mpc/signing-guard.ts'
import { openSigningJournal } from '../keys/mpc/signing-journal.ts'
import { requireUsableDirectory } from '../keys/usable-directory.ts'
import { createCeremonyCoverage } from '../mpc-wallets/ceremony-coverage.ts'
import { MPC_PARTY_DIR, openPartyIdentity, openPartyKek } from '../mpc-wallets/identities.ts'
import { createJointKeysOf } from '../mpc-wallets/joint-keys.ts'
import { startMpcUpkeep } from '../mpc-wallets/party-upkeep.ts'
import { prepareTrust } from '../mpc-wallets/prepare-trust.ts'
import { partyProblem } from '../operator/stuck/judge-shares.ts'
import { requireTagKeys } from '../transactions/tag-key.ts'
import { whenDatabaseAnswers } from './check-database.ts'
import { startLogClock } from './check-requests.ts'
import type { Kernel } from './kernel.ts'
import { coverageContext, coverageOf, endedUnsigned, revertedOf, unknownOf } from './mpc-coverage.ts'
import type { Work } from './run-process.ts'

/** A round of key generation computes for several seconds, longer on a busy machine. */
const CEREMONY_ROUND_MS = 2 * 60_000

type Configured = {
  readonly me: number
  readonly directory: string
  readonly key: string | null
  readonly trustDir: string
  readonly roundTimeoutMs: number
  readonly addresses: ReadonlyMap<number, { readonly host: string; readonly port: number }>
}

/**
 * @param signal aborts when the process is stopping
 * @param connect opens the channel to the others
 * @throws ConfigError when the settings do not say which party it is, or where the parties are; Unavailable
 *   `mpc_party_running` when another process has the directory of the party
 */
export async function startMpcParty(
  kernel: Kernel,
  signal: AbortSignal,
  connect: typeof openChannel = openChannel,
): Promise<Work> {
  const settings = configured(kernel)
  await requireUsableDirectory(settings.directory, MPC_PARTY_DIR, { writes: true })
  const lock = await lockDirectory({ directory: settings.directory, log: kernel.logger })
  try {
    return await startLocked(kernel, settings, { signal, connect, lock })
  } catch (error) {
    await lock.release()
    throw error
  }
}

type Start = { readonly signal: AbortSignal; readonly connect: typeof openChannel; readonly lock: DirectoryLock }

async function startLocked(kernel: Kernel, settings: Configured, { signal, connect, lock }: Start): Promise<Work> {
  const { log } = kernel
  const { me, directory } = settings
  const tagKeys = await whenDatabaseAnswers(kernel, signal, () => requireTagKeys(log, kernel.config.tagKeys))
  const times = await whenDatabaseAnswers(kernel, signal, () => startLogClock(kernel, signal))
  const kek = await openPartyKek(settings)
  const store = await openShareStore({ directory, party: me, kek, requireOwner: lock.requireHeld })
  const held = new Set(store.list().flatMap(({ keyId, generations }) => generations.map((each) => `${keyId} ${each}`)))
  const [journal, bans, counts, channel] = await Promise.all([
    openSigningJournal({
      directory,
      requireOwner: lock.requireHeld,
      log: kernel.logger,
      revertedOf: (ids) => revertedOf(kernel, ids),
    }),
    openPartyBans(`${directory}/bans`),
    openCheckCounts(
      `${directory}/checks`,
      (keyId, generation) => held.has(`${keyId} ${generation}`),
      CHECK_LIMITS,
      lock.requireHeld,
    ),
    openPartyChannel(kernel, settings, await openPartyIdentity(me, directory, kek), connect),
  ])
  // Separate threads: a key for the pool can wait, a signature should not.
  const [signing, ceremonies] = [createEngineThread(), createEngineThread({ niceness: 15 })]
  const jointKeysOf = createJointKeysOf(log)
  const heldByAll = createHeldByAll({ me, channel, store, jointKeysOf })
  const coverage = coverageContext(kernel, journal, { keys: tagKeys, times })
  const party = createParty({
    me,
    channel,
    signing: {
      me,
      engine: signing,
      shares: createLoadedShares({ me, engine: signing, store }),
      journal,
      bans,
      guard: createSigningGuard({ bans, counts }),
      jointKeysOf,
      coverageOf: (asked) => coverageOf(coverage, asked),
      endedOf: (ids) => endedUnsigned(kernel, ids),
      unknownOf: (ids) => unknownOf(kernel, ids),
      onNotCovered: ({ keyId, intent }, rule) =>
        kernel.logger.error(
          { key_id: keyId, intent, rule },
          'refused to sign: the event log has no matching request; check the coordinator',
        ),
    },
    ceremonies: createPartyCeremonies({
      me,
      engine: ceremonies,
      store,
      bans,
      jointKeysOf,
      covers: createCeremonyCoverage(kernel),
    }),
    settle: (keyIds) => settleShares({ store, jointKeysOf, heldByAll }, keyIds),
    heldByAll,
    roundMs: { signing: settings.roundTimeoutMs, ceremonies: CEREMONY_ROUND_MS },
    observe: observer(kernel),
  })
  const upkeep = startMpcUpkeep(kernel, { store, journal, jointKeysOf, heldByAll }, signal)
  return {
    problem: () => partyProblem(lock.lost() ?? journal.damage()?.message ?? null, upkeep.shares()),
    async drain() {
      await party.drain()
      await upkeep.ended
      await channel.close()
      await Promise.all([signing.close(), ceremonies.close(), journal.close()])
      await lock.release()
    },
  }
}

function configured({ config }: Kernel): Configured {
  const { mpc } = config
  if (mpc === null) throw new ConfigError(['MPC_PARTIES must not be 0 for a party process'])
  if (mpc.party === null)
    throw new ConfigError(['MPC_PARTY must be set for a party process, to the number of the party'])
  if (mpc.addresses === null) throw new ConfigError(['MPC_PARTY_ADDRESSES must be set for a party process'])
  const { trustDir, roundTimeoutMs, addresses, party } = mpc
  return { me: party.number, directory: party.directory, key: party.key, trustDir, roundTimeoutMs, addresses }
}

/** In each pair of parties the one with the smaller number dials; the coordinator dials all. */
async function openPartyChannel(
  { config, logger }: Kernel,
  { me, trustDir, addresses }: Configured,
  identity: Identity,
  connect: typeof openChannel,
): Promise<Channel> {
  const parties = [...addresses.keys()].filter((party) => party !== me)
  await prepareTrust({ config, logger }, { trustDir, identity, peers: [...parties.map(partyName), COORDINATOR] })
  const larger = [...addresses].filter(([party]) => party > me)
  return connect({
    identity,
    trustDir,
    listen: addresses.get(me) ?? null,
    dials: new Map(larger.map(([party, address]) => [partyName(party), address])),
    shared: (name) => name === COORDINATOR,
    accepts: (name) => name === COORDINATOR || (partyNumber(name) ?? me) < me,
    log: logger,
  })
}

function observer({ logger, metrics }: Kernel): PartyObserver {
  return {
    onSession: ({ ceremony, items, refused, durationMs }) => {
      metrics.time('bursar_mpc_session_duration_seconds', { ceremony, outcome: refused[0] ?? 'done' }, durationMs)
      if (ceremony !== 'sign') logger.info({ ceremony, refused, duration_ms: Math.round(durationMs) }, 'ceremony ended')
      else if (refused.length > 0) logger.warn({ items, refused }, 'some signatures failed')
    },
    onRefusedMessage: ({ from, reason }) => {
      metrics.count('bursar_mpc_refused_messages_total', { reason })
      const level = ['session_closed', 'session_unknown'].includes(reason) ? 'debug' : 'warn'
      logger[level]({ from, reason }, 'message rejected')
    },
    onFailure: (error, ceremony) => logger.error({ err: error, ceremony }, 'ceremony failed'),
  }
}
