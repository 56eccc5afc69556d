/** Derivation and signing: the published vectors, the library's own bytes, and what must never leave the signer. */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { HDNodeWallet, Mnemonic, Transaction, Wallet } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { childOf, HARDENED, masterKey } from '../../src/keys/bip32.ts'
import { seedOfEntropy } from '../../src/keys/bip39.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import { childKey, hdKey } from '../../src/keys/hd-key.ts'
import { HdAccount, hdAccount, hdPath } from '../../src/keys/hd-path.ts'
import { decodeKek } from '../../src/keys/kek.ts'
import type { KeyRef, Signer, UnsignedTransaction } from '../../src/keys/signer.ts'
import { signerByKind } from '../../src/keys/signer-by-kind.ts'
import type { TenantSeeds } from '../../src/keys/tenant-seeds.ts'
import {
  BIP32_VECTORS,
  BIP39_VECTORS,
  DEVELOPMENT_ADDRESSES,
  DEVELOPMENT_WORDS,
  HALF_ORDER,
} from '../support/key-vectors.ts'

const ENTROPY = Buffer.from(Mnemonic.fromPhrase(DEVELOPMENT_WORDS).entropy.slice(2), 'hex')

/** Seeds like a keystore's, derived from the tenant's name; counts the calls. */
function seedsOf(known: Record<string, Uint8Array>): TenantSeeds & { loads: number; given: Uint8Array[] } {
  const seeds = {
    loads: 0,
    given: [] as Uint8Array[],
    load: async (tenantId: string) => {
      seeds.loads += 1
      const entropy = known[tenantId]
      if (entropy === undefined) throw new Unavailable('seed_missing', 'no seed')
      const copy = Uint8Array.from(entropy)
      seeds.given.push(copy)
      return copy
    },
    loadOrCreate: (tenantId: string) => seeds.load(tenantId),
  }
  return seeds
}

const hd = (index: number, tenantId = 'acme') => ({ kind: 'hd', tenantId, index }) as const satisfies KeyRef

const transfer: UnsignedTransaction = {
  chainId: 1,
  nonce: 0,
  to: DEVELOPMENT_ADDRESSES[1],
  value: 10n ** 18n,
  data: '0x',
  gasLimit: 21_000n,
  maxFeePerGas: 30_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
}

t.test('24 words encode their entropy and give the seed that BIP-39 publishes', (t) => {
  for (const [entropy, words, seed] of BIP39_VECTORS) {
    t.equal(Mnemonic.fromEntropy(`0x${entropy}`).phrase, words)
    t.equal(Mnemonic.fromPhrase(words, 'TREZOR').computeSeed(), `0x${seed}`)
  }
  t.end()
})

t.test('the seed and the keys are those that BIP-39 and BIP-32 publish, leading zeros kept', (t) => {
  for (const [entropy, words] of BIP39_VECTORS) {
    const seed = seedOfEntropy(Buffer.from(entropy, 'hex'))
    t.equal(`0x${Buffer.from(seed).toString('hex')}`, Mnemonic.fromPhrase(words).computeSeed(), 'no passphrase is used')
  }
  for (const bytes of [16, 20, 24, 28]) {
    const entropy = randomBytes(bytes)
    t.equal(`0x${Buffer.from(seedOfEntropy(entropy)).toString('hex')}`, Mnemonic.fromEntropy(entropy).computeSeed())
  }
  t.throws(() => seedOfEntropy(Buffer.alloc(15)), RangeError)
  for (const [seed, path, extendedKey] of BIP32_VECTORS) {
    t.equal(HDNodeWallet.fromSeed(`0x${seed}`).derivePath(path).extendedKey, extendedKey, path)
    const steps = path.split('/').slice(1)
    const indexes = steps.map((step) => Number.parseInt(step, 10) + (step.endsWith("'") ? HARDENED : 0))
    const { key, chainCode } = indexes.reduce(childOf, masterKey(Buffer.from(seed, 'hex')))
    const published = HDNodeWallet.fromExtendedKey(extendedKey) as HDNodeWallet
    t.equal(`0x${Buffer.from(key).toString('hex')}`, published.privateKey, path)
    t.equal(`0x${Buffer.from(chainCode).toString('hex')}`, published.chainCode, path)
  }
  t.end()
})

t.test('the well-known development wallet has the addresses that hardhat and anvil print', async (t) => {
  const signer = createHdSigner({ seeds: seedsOf({ acme: ENTROPY }) })
  for (const [index, address] of DEVELOPMENT_ADDRESSES.entries()) {
    t.strictSame(await signer.createKey(hd(index)), { key: hd(index), address })
  }
  t.equal(hdPath(7), "m/44'/60'/0'/0/7")
})

t.test('a key is what the library derives from the words', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat({ max: 2 ** 31 - 1 }), (entropy, index) => {
      const wallet = byLibrary(entropy, index)
      const key = childKey(hdAccount(entropy), index)
      t.equal(key.address, wallet.address)
      return wallet.privateKey === `0x${Buffer.from(key.reveal()).toString('hex')}`
    }),
    { numRuns: 5 },
  )
  t.end()
})

function byLibrary(entropy: Uint8Array, index: number): HDNodeWallet {
  return HDNodeWallet.fromMnemonic(Mnemonic.fromEntropy(entropy), hdPath(index))
}

t.test('seeds, accounts and keys are wiped after use, and signatures stay correct', async (t) => {
  const handed: Uint8Array[] = []
  const keyAt = HdAccount.prototype.keyAt
  t.intercept(HdAccount.prototype, 'keyAt', {
    value(this: HdAccount, index: number) {
      const key = keyAt.call(this, index)
      handed.push(key)
      return key
    },
  })
  const seeds = seedsOf({ acme: ENTROPY, beta: randomBytes(32) })
  const signer = createHdSigner({ seeds, cachedKeys: 1 })
  const messages = Array.from({ length: 40 }, (_, n) => ({ key: hd(n % 3, n % 2 === 0 ? 'acme' : 'beta'), n }))
  const signatures = await Promise.all(
    messages.map(({ key, n }) => signer.signMessage({ key, intent, message: Buffer.from(`message ${n}`) })),
  )
  t.strictSame([...new Set(seeds.given.map(isWiped))], [true], `all ${seeds.given.length} seeds are wiped`)
  t.ok(handed.length > 3)
  t.strictSame(
    handed.slice(0, -1).map(isWiped),
    handed.slice(1).map(() => true),
    'the keys that left the cache are wiped',
  )
  t.equal(isWiped(handed.at(-1) ?? new Uint8Array()), false, 'the cached key is not wiped')
  for (const [index, { key, n }] of messages.entries()) {
    if (key.tenantId !== 'acme') continue
    t.equal(await byLibrary(ENTROPY, key.index).signMessage(`message ${n}`), signatures[index])
  }
  const key = hdKey(ENTROPY, 0)
  key.wipe()
  t.ok(isWiped(key.reveal()))
  t.throws(() => key.sign(Buffer.alloc(32, 1)), 'a wiped key does not sign')
})

t.test('the bytes of a key-encryption key are wiped once they are a key', async (t) => {
  const text = randomBytes(32).toString('base64')
  const made: Uint8Array[] = []
  const from = Buffer.from
  t.intercept(Buffer, 'from', {
    value: (...args: Parameters<typeof Buffer.from>) => {
      const bytes = from(...args)
      if (args[0] === text) made.push(bytes)
      return bytes
    },
  })
  t.ok(decodeKek(text))
  t.equal(made.length, 1)
  t.ok(made.every(isWiped))
})

function isWiped(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

const uint = (bits: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n })
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
/** A whole key signs for any caller. */
const intent = { kind: 'transaction', id: 'tx_1' } as const

const hex = (from: fc.Arbitrary<Uint8Array>) => from.map((value) => `0x${Buffer.from(value).toString('hex')}`)

const transactions: fc.Arbitrary<UnsignedTransaction> = fc
  .record({
    chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    nonce: fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: Number.MAX_SAFE_INTEGER })),
    to: hex(bytes(20)),
    value: fc.oneof(uint(8), uint(256)),
    data: hex(fc.uint8Array({ maxLength: 300 })),
    gasLimit: uint(64),
    fees: fc.tuple(uint(64), uint(64)),
  })
  .map(({ fees: [one, other], ...rest }) => {
    const [maxPriorityFeePerGas, maxFeePerGas] = one < other ? [one, other] : [other, one]
    return { ...rest, maxFeePerGas, maxPriorityFeePerGas }
  })

t.test('signed bytes equal those of the library: same sender, same hash, low s', async (t) => {
  const signer = createHdSigner({ seeds: seedsOf({ acme: ENTROPY }) })
  const wallet = new Wallet(byLibrary(ENTROPY, 3).privateKey)
  await fc.assert(
    fc.asyncProperty(transactions, async (transaction) => {
      const [signed] = await signer.signTransactions([{ key: hd(3), intent, transaction }])
      if (signed === undefined) return false
      const parsed = Transaction.from(signed.rawTransaction)
      t.strictSame([parsed.from, signed.sender], [DEVELOPMENT_ADDRESSES[3], DEVELOPMENT_ADDRESSES[3]])
      t.equal(parsed.hash, signed.hash)
      t.ok(BigInt(parsed.signature?.s ?? -1) <= HALF_ORDER)
      t.equal(signed.rawTransaction, await wallet.signTransaction({ ...transaction, type: 2 }))
      return true
    }),
    { numRuns: 50 },
  )
})

t.test('answers come in the order of the requests, each from its own key', async (t) => {
  const seeds = seedsOf({ acme: ENTROPY, zeta: Buffer.alloc(32, 9) })
  const signer = createHdSigner({ seeds, cachedKeys: 4 })
  const requests = Array.from({ length: 60 }, (_, nonce) => ({
    key: hd(nonce % 5, nonce % 2 === 0 ? 'acme' : 'zeta'),
    intent,
    transaction: { ...transfer, nonce },
  }))
  const signed = await signer.signTransactions(requests)
  const expected = await Promise.all(requests.map(async ({ key }) => (await signer.createKey(key)).address))
  t.strictSame(
    signed.map(({ rawTransaction }) => Transaction.from(rawTransaction)).map(({ from, nonce }) => [from, nonce]),
    expected.map((address, nonce) => [address, nonce]),
  )
  t.ok(signed.every(({ sender }, place) => sender === expected[place]))
  t.equal(seeds.loads, 2, 'a seed is opened once, whatever keys the cache drops')
})

t.test('a signer without the seed signs nothing and makes no seed', async (t) => {
  const signer = createHdSigner({ seeds: seedsOf({ acme: ENTROPY }) })
  const requests = [hd(0), hd(0, 'nobody')].map((key) => ({ key, intent, transaction: transfer }))
  await t.rejects(signer.signTransactions(requests), { code: 'seed_missing', retryable: true })
})

t.test('values that EIP-1559 cannot encode are refused before signing', async (t) => {
  const signer = createHdSigner({ seeds: seedsOf({ acme: ENTROPY }) })
  const wrong: Partial<UnsignedTransaction>[] = [
    { nonce: -1 },
    { nonce: 1.5 },
    { chainId: 2 ** 53 },
    { value: -1n },
    { value: 1n << 256n },
    { gasLimit: -1n },
    { maxFeePerGas: 1n, maxPriorityFeePerGas: 2n },
    { to: '0x' },
    { to: `${DEVELOPMENT_ADDRESSES[0]}00` },
    { data: '0xabc' },
    { data: 'ab' },
  ]
  for (const fields of wrong) {
    const request = { key: hd(0), intent, transaction: { ...transfer, ...fields } }
    await t.rejects(signer.signTransactions([request]), RangeError, inspect(fields))
  }
  for (const index of [-1, 0.5, 2 ** 31]) await t.rejects(signer.createKey(hd(index)), RangeError)
})

t.test('neither a signer nor an error of it shows a secret', async (t) => {
  const signer = createHdSigner({ seeds: seedsOf({ acme: ENTROPY }) })
  await signer.createKey(hd(0))
  const secrets = [ENTROPY.toString('hex'), DEVELOPMENT_WORDS, byLibrary(ENTROPY, 0).privateKey.slice(2)]
  const failure = await signer
    .signTransactions([{ key: hd(0), intent, transaction: { ...transfer, value: -1n } }])
    .catch((error: Error) => error)
  for (const shown of [inspect(signer, { depth: 9, showHidden: true }), JSON.stringify(signer), inspect(failure)]) {
    for (const secret of secrets) t.notOk(shown.includes(secret))
  }
})

t.test(
  'each kind of key goes to its own signer, and a kind without one is refused before anything is signed',
  async (t) => {
    const asked: number[] = []
    const fake = (name: string): Signer => ({
      signTransactions: async (requests) => {
        asked.push(requests.length)
        const none = { rawTransaction: '0x', sender: null }
        return requests.map(({ transaction: { nonce } }) => ({ hash: `${name}-${nonce}`, ...none }))
      },
      signTypedData: async () => name,
      signMessage: async () => name,
    })
    const mpc: KeyRef = { kind: 'mpc', keyId: 'k' }
    const requests = [hd(0), mpc, mpc, hd(1), mpc].map((key, nonce) => ({
      key,
      intent,
      transaction: { ...transfer, nonce },
    }))
    const both = signerByKind({ hd: fake('hd'), mpc: fake('mpc') })
    const signed = await both.signTransactions(requests)
    t.strictSame(
      signed.map(({ hash }) => hash),
      ['hd-0', 'mpc-1', 'mpc-2', 'hd-3', 'mpc-4'],
    )
    const typedData = { domain: {}, types: { Note: [{ name: 'text', type: 'string' }] }, message: { text: 'a' } }
    t.equal(await both.signTypedData({ key: mpc, intent, typedData }), 'mpc')
    t.equal(await both.signMessage({ key: mpc, intent, message: Buffer.from('a') }), 'mpc')
    asked.length = 0
    const one = signerByKind({ hd: fake('hd') })
    await t.rejects(one.signTransactions(requests), { code: 'signer_unavailable', retryable: true })
    await t.rejects(one.signTypedData({ key: mpc, intent, typedData }), { code: 'signer_unavailable', retryable: true })
    t.strictSame(asked, [])
  },
)
