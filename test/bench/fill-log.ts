/**
 * Fills the log with wallets, half of them watched, their balances and settled transfers, as the service would have
 * written them, and derives the read models from it with the product's own rebuild.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { getAddress } from 'ethers/address'
import pg from 'pg'
import { newId } from '../../src/compose/new-id.ts'
import { type Copy, insertCopies, type ModelEvent, readModel } from './copied-streams.ts'
import { runOperator } from './operator.ts'
import { call, fundedWallets, type Subject, sendTransfer, untilConfirmed } from './subject.ts'

const WALLETS_AT_ONCE = 500
/** 100,000 wallets in a log of a million events. */
const EVENTS_PER_WALLET = 10
/** Far above the key indexes that the service assigns. */
const FIRST_KEY_INDEX = 1_000_000
const LOOK_MS = 50

/** One of each kind of stream, and the texts in it that each copy replaces. */
export type Models = {
  readonly walletId: string
  readonly address: string
  readonly watchedAddress: string
  readonly hash: string
  readonly wallet: readonly ModelEvent[]
  readonly watch: readonly ModelEvent[]
  readonly balance: readonly ModelEvent[]
  readonly transfer: readonly ModelEvent[]
}

/** A copied wallet. */
export type Account = { readonly walletId: string; readonly address: string }

/** Makes one of each by the API. */
export async function makeModels(subject: Subject): Promise<Models> {
  const [walletId = ''] = await fundedWallets(subject, 1)
  const transactionId = await sendTransfer(subject, walletId)
  await untilConfirmed(subject, walletId, transactionId)
  const watched = await call<Answered>(subject, 'POST', '/v1/wallets/watch', {
    address: randomAddress(),
    network: 'ethereum',
    label: 'bench',
  })
  const { address } = await call<Answered>(subject, 'GET', `/v1/wallets/${walletId}`)
  return withPool(subject, async (pool) => {
    const transfer = await readModel(pool, `transaction-${transactionId}`)
    return {
      walletId,
      address,
      watchedAddress: watched.address,
      hash: String(transfer.find(({ type }) => type === 'TransactionSigned')?.data.hash),
      wallet: await readModel(pool, `wallet-${walletId}`),
      watch: await readModel(pool, `wallet-${watched.wallet_id}`),
      balance: (await readModel(pool, `balance-${walletId}`)).slice(0, 1),
      transfer,
    }
  })
}

type Answered = { readonly wallet_id: string; readonly address: string }

/**
 * Appends copies until the log has this many events, then rebuilds the read models.
 *
 * The dispatcher is held meanwhile and continues after the copies: their work is done.
 *
 * @param first the number of wallets copied before
 * @returns the new wallets
 */
export async function fillLog(subject: Subject, models: Models, events: number, first: number): Promise<Account[]> {
  const { service } = subject
  const accounts: Account[] = []
  await withPool(subject, async (pool) => {
    const wanted = events - (await countEvents(pool))
    const target = Math.max(1, Math.round(events / EVENTS_PER_WALLET) - first)
    service.kill('dispatcher', 'SIGSTOP')
    for (let done = 0; accounts.length < target; ) {
      const batch = Array.from({ length: Math.min(WALLETS_AT_ONCE, target - accounts.length) }, newAccount)
      const share = Math.round((wanted * (accounts.length + batch.length)) / target) - done
      done += await insertCopies(pool, streamsOf(models, batch, first + accounts.length, share))
      accounts.push(...batch)
      if (accounts.length % (20 * WALLETS_AT_ONCE) === 0) process.stderr.write(`  ${done} of ${wanted} events\n`)
    }
    await skipDispatcher(subject, pool)
    await pool.query('VACUUM ANALYZE events')
  })
  await runOperator(['rebuild', '--all'], { DATA_DIR: join(service.directory, 'data') })
  await withPool(subject, (pool) => pool.query('ANALYZE'))
  return accounts
}

/** Every second wallet is watched; the others share what is missing of the events as transfers. */
function streamsOf(models: Models, batch: readonly Account[], first: number, events: number): Copy[] {
  const { wallet, watch, balance, transfer } = models
  const owners = batch.filter((_, n) => n % 2 === 0)
  const opening = owners.length * wallet.length + (batch.length - owners.length) * watch.length + batch.length
  const transfers = Math.max(0, Math.floor((events - opening) / transfer.length))
  const wallets = batch.flatMap((account, n): Copy[] => [
    n % 2 === 0
      ? openingOf(models, account, FIRST_KEY_INDEX + first + n)
      : {
          model: watch,
          streamId: `wallet-${account.walletId}`,
          replaced: new Map([[models.watchedAddress, account.address]]),
        },
    { model: balance, streamId: `balance-${account.walletId}`, members: { balance: '0' } },
  ])
  const sent = Array.from({ length: transfers }, (_, n): Copy => {
    const account = owners[n % owners.length]
    if (account === undefined) throw new Error('there is no wallet to send from')
    const replaced = new Map([
      [models.walletId, account.walletId],
      [models.address, account.address],
      [models.hash, `0x${randomBytes(32).toString('hex')}`],
    ])
    const nonce = Math.floor(n / owners.length)
    return { model: transfer, streamId: `transaction-${newId('transaction')}`, replaced, members: { nonce } }
  })
  return [...wallets, ...sent]
}

function openingOf({ wallet, address }: Models, account: Account, index: number): Copy {
  const key = wallet.find(({ type }) => type === 'WalletCreated')?.data.key as Readonly<Record<string, unknown>>
  return {
    model: wallet,
    streamId: `wallet-${account.walletId}`,
    replaced: new Map([[address, account.address]]),
    members: { key: { ...key, index }, derivationPath: `m/44'/60'/0'/0/${index}` },
  }
}

/** The dispatcher starts again after the newest event. */
async function skipDispatcher({ service }: Subject, pool: pg.Pool): Promise<void> {
  const pidOf = () => service.state().processes.find(({ name }) => name === 'dispatcher')?.pid
  const before = pidOf()
  await pool.query(
    `UPDATE checkpoints SET transaction_id = e.transaction_id, position = e.position
       FROM (SELECT transaction_id, position FROM events ORDER BY transaction_id DESC, position DESC LIMIT 1) AS e
      WHERE name = 'dispatcher'`,
  )
  service.kill('dispatcher')
  while (pidOf() === before) await sleep(LOOK_MS)
}

async function countEvents(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM events')
  return Number(rows[0]?.n)
}

function newAccount(): Account {
  return { walletId: newId('wallet'), address: randomAddress() }
}

function randomAddress(): string {
  return getAddress(`0x${randomBytes(20).toString('hex')}`)
}

async function withPool<T>(subject: Subject, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
  return work(pool).finally(() => pool.end())
}
