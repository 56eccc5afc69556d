/** Derivation and signing: the published vectors, the library's own bytes, and what must never leave the signer. */
import { createHmac } from 'node:crypto'
import { inspect } from 'node:util'
import { HDNodeWallet, Mnemonic, Transaction, Wallet } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { pointFromScalar, privateAdd } from 'tiny-secp256k1'
import { Unavailable } from '../../src/core/errors.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import { hdAccount, hdPath } from '../../src/keys/hd-path.ts'
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

/** Seeds as a keystore would give them, made from the tenant's name; counts how often it was asked. */
function seedsOf(known: Record<string, Uint8Array>): TenantSeeds & { loads: number } {
  const seeds = {
    loads: 0,
    load: async (tenantId: string) => {
      seeds.loads += 1
      const entropy = known[tenantId]
      if (entropy === undefined) throw new Unavailable('seed_missing', 'no seed')
      return entropy
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

t.test('24 words stand for their entropy and give the seed that BIP-39 publishes', (t) => {
  for (const [entropy, words, seed] of BIP39_VECTORS) {
    t.equal(Mnemonic.fromEntropy(`0x${entropy}`).phrase, words)
    t.equal(Mnemonic.fromPhrase(words, 'TREZOR').computeSeed(), `0x${seed}`)
  }
  t.end()
})

t.test('keys are derived as BIP-32 publishes, leading zeros kept', (t) => {
  for (const [seed, path, extendedKey] of BIP32_VECTORS) {
    t.equal(HDNodeWallet.fromSeed(`0x${seed}`).derivePath(path).extendedKey, extendedKey, path)
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

t.test('a child key is what the formula of BIP-32 gives, computed apart from the library', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat({ max: 2 ** 31 - 1 }), (entropy, index) => {
      const account = hdAccount(entropy)
      const parent = Buffer.from(account.privateKey.slice(2), 'hex')
      const position = Buffer.alloc(4)
      position.writeUInt32BE(index)
      const digest = createHmac('sha512', Buffer.from(account.chainCode.slice(2), 'hex'))
        .update(pointFromScalar(parent, true) ?? '')
        .update(position)
        .digest()
      const child = privateAdd(parent, digest.subarray(0, 32)) ?? new Uint8Array()
      return account.deriveChild(index).privateKey === `0x${Buffer.from(child).toString('hex')}`
    }),
    { numRuns: 5 },
  )
  t.end()
})

const uint = (bits: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n })
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
/** A whole key signs for whoever asks. */
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

t.test('signed bytes are, bit for bit, the ones that the library makes: same sender, same hash, low s', async (t) => {
  const signer = createHdSigner({ seeds: seedsOf({ acme: ENTROPY }) })
  const wallet = new Wallet(hdAccount(ENTROPY).deriveChild(3).privateKey)
  await fc.assert(
    fc.asyncProperty(transactions, async (transaction) => {
      const [signed] = await signer.signTransactions([{ key: hd(3), intent, transaction }])
      if (signed === undefined) return false
      const parsed = Transaction.from(signed.rawTransaction)
      t.equal(parsed.from, DEVELOPMENT_ADDRESSES[3])
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
  t.equal(seeds.loads, 2, 'a seed is opened once, whatever the cache of keys forgets')
})

t.test('a signer without the seed signs nothing and makes no seed', async (t) => {
  const signer = createHdSigner({ seeds: seedsOf({ acme: ENTROPY }) })
  const requests = [hd(0), hd(0, 'nobody')].map((key) => ({ key, intent, transaction: transfer }))
  await t.rejects(signer.signTransactions(requests), { code: 'seed_missing', retryable: true })
})

t.test('what EIP-1559 cannot hold is refused before it is signed', async (t) => {
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
  const secrets = [ENTROPY.toString('hex'), DEVELOPMENT_WORDS, hdAccount(ENTROPY).deriveChild(0).privateKey.slice(2)]
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
        return requests.map(({ transaction }) => ({ hash: `${name}-${transaction.nonce}`, rawTransaction: '0x' }))
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
