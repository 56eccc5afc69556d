/** Signatures over typed data: the example of EIP-712 itself, and verification by another library. */
import { createHash } from 'node:crypto'
import { id, verifyMessage, verifyTypedData, Wallet } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { signRecoverable } from 'tiny-secp256k1'
import { Unavailable } from '../../src/core/errors.ts'
import { signEip191 } from '../../src/keys/eip191.ts'
import { signEip712 } from '../../src/keys/eip712.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import type { TypedData } from '../../src/keys/signer.ts'
import { voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { HALF_ORDER } from '../support/key-vectors.ts'

/** https://eips.ethereum.org/assets/eip-712/Example.js, which signs with the key keccak256("cow"). */
const MAIL: TypedData = {
  domain: {
    name: 'Ether Mail',
    version: '1',
    chainId: 1,
    verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC',
  },
  types: {
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
}
const MAIL_DIGEST = 'be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2'
const MAIL_SIGNATURE =
  '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c'

const COW = Buffer.from(id('cow').slice(2), 'hex')

const load = async (tenantId: string) => createHash('sha256').update(tenantId).digest()
/** A whole key signs for any caller. */
const intent = { kind: 'voucher', id: 'mint_1' } as const
const signer = createHdSigner({ seeds: { load, loadOrCreate: load } })

t.test('the mail of EIP-712 has the digest and the signature that the standard publishes', (t) => {
  let digest = ''
  const signature = signEip712(MAIL, (bytes) => {
    digest = Buffer.from(bytes).toString('hex')
    return signRecoverable(bytes, COW)
  })
  t.equal(digest, MAIL_DIGEST)
  t.equal(signature, MAIL_SIGNATURE)
  t.end()
})

t.test('any voucher is signed as ethers verifies it, with a low s and v of 27 or 28', async (t) => {
  const key = { kind: 'hd', tenantId: 'acme', index: 3 } as const
  const { address } = await signer.createKey(key)
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
  const hex = (value: Uint8Array) => `0x${Buffer.from(value).toString('hex')}`
  const vouchers = fc.record({
    tokenId: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    recipient: fc.option(bytes(20).map(hex)),
    amount: fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }),
    digest: bytes(32).map(hex),
    validUntil: fc.option(fc.nat()),
  })
  await fc.assert(
    fc.asyncProperty(vouchers, fc.nat(), bytes(20).map(hex), async (voucher, chainId, contract) => {
      const typedData = voucherTypedData(chainId, contract, voucher)
      const signature = await signer.signTypedData({ key, intent, typedData })
      t.match(signature, /^0x[0-9a-f]{128}1[bc]$/)
      t.ok(BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER)
      t.equal(verifyTypedData(typedData.domain, typedData.types, typedData.message, signature), address)
    }),
    { numRuns: 50 },
  )
})

t.test('the same key signs the same data as a wallet of ethers does', async (t) => {
  const wallet = new Wallet(`0x${COW.toString('hex')}`)
  const types = Object.fromEntries(Object.entries(MAIL.types).map(([name, fields]) => [name, [...fields]]))
  t.equal(
    signEip712(MAIL, (digest) => signRecoverable(digest, COW)),
    await wallet.signTypedData(MAIL.domain, types, MAIL.message),
  )
})

t.test('a message that does not fit its types is not signed, and an unavailable keystore is tried again', async (t) => {
  const key = { kind: 'hd', tenantId: 'acme', index: 0 } as const
  await t.rejects(signer.signTypedData({ key, intent, typedData: { ...MAIL, message: { contents: 1 } } }), TypeError)
  const away = async () => {
    throw new Unavailable('seed_missing', 'no seed')
  }
  const apart = createHdSigner({ seeds: { load: away, loadOrCreate: away } })
  await t.rejects(apart.signTypedData({ key, intent, typedData: MAIL }), { code: 'seed_missing', retryable: true })
})

t.test(
  'a message is signed as a wallet of ethers does, with the prefix that keeps it from being a transaction',
  async (t) => {
    const wallet = new Wallet(`0x${COW.toString('hex')}`)
    for (const text of ['', 'Hello World', 'a'.repeat(1_000), 'Grüße']) {
      t.equal(
        signEip191(Buffer.from(text), (digest) => signRecoverable(digest, COW)),
        await wallet.signMessage(text),
      )
    }
    const key = { kind: 'hd', tenantId: 'acme', index: 0 } as const
    const signature = await signer.signMessage({ key, intent, message: Uint8Array.of(0, 255) })
    t.equal(verifyMessage(Uint8Array.of(0, 255), signature), (await signer.createKey(key)).address)
  },
)
