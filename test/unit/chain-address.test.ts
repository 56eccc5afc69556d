/** Addresses at the API, and the built-in public addresses. */
import { getAddress } from 'ethers/address'
import { keccak256 } from 'ethers/crypto'
import fc from 'fast-check'
import t from 'tap'
import { parseAddress, parseRecipient, toChecksumAddress } from '../../src/chain/address.ts'
import { fastKeccak } from '../../src/chain/fast-keccak.ts'
import { MULTICALL3_ADDRESS, PUBLIC_CONTRACTS } from '../../src/chain/public-networks.ts'
import { ValidationFailed } from '../../src/core/errors.ts'
import { ENVIRONMENTS, NATIVE_SYMBOL, NETWORKS } from '../../src/core/networks.ts'

/** The test cases of EIP-55. */
const EIP55 = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof ValidationFailed) return `${error.items[0]?.field}: ${error.items[0]?.code}`
    throw error
  }
  return undefined
}

t.test('addresses in lower or upper case get the checksum of the EIP-55 examples', async (t) => {
  for (const address of EIP55) {
    t.equal(parseAddress(address, 'to'), address)
    t.equal(parseAddress(address.toLowerCase(), 'to'), address)
    t.equal(parseAddress(`0x${address.slice(2).toUpperCase()}`, 'to'), address)
  }
})

t.test('any 20 bytes get the same checksum as from another implementation', async (t) => {
  const bytes = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((array) => Buffer.from(array).toString('hex'))
  fc.assert(fc.property(bytes, (hex) => toChecksumAddress(`0x${hex}`) === getAddress(`0x${hex}`)))
  t.pass()
})

t.test('an address with one letter in the wrong case is refused', async (t) => {
  t.equal(
    codeOf(() => parseAddress('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed', 'to')),
    'to: bad_checksum',
  )
  const withLetters = fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .map((array) => toChecksumAddress(`0x${Buffer.from(array).toString('hex')}`))
  fc.assert(
    fc.property(withLetters, fc.nat(39), (address, at) => {
      const letter = address.charAt(at + 2)
      const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
      const changed = address.slice(0, at + 2) + flipped + address.slice(at + 3)
      const digits = changed.slice(2)
      const mixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
      if (flipped === letter || !mixed) return true
      return codeOf(() => parseAddress(changed, 'to')) === 'to: bad_checksum'
    }),
  )
})

t.test('a value that is not an address is refused and the field is named', async (t) => {
  const wrong = ['', '0x', '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', `0x${'0'.repeat(39)}`, `0x${'0'.repeat(41)}`]
  wrong.push(
    `0X${'a'.repeat(40)}`,
    `0x${'g'.repeat(40)}`,
    ` 0x${'a'.repeat(40)}`,
    `0x${'a'.repeat(40)}\n`,
    'vitalik.eth',
  )
  for (const text of wrong) {
    t.equal(
      codeOf(() => parseAddress(text, 'items[2].to')),
      'items[2].to: invalid_address',
      JSON.stringify(text),
    )
  }
})

t.test('the zero address is an address but no recipient', async (t) => {
  const zero = `0x${'0'.repeat(40)}`
  t.equal(parseAddress(zero, 'contract'), zero)
  t.equal(
    codeOf(() => parseRecipient(zero)),
    'to: zero_address',
  )
  t.equal(parseRecipient(EIP55[4]?.toLowerCase() ?? ''), EIP55[4])
})

t.test('every public address has its checksum, and every native currency of a public chain a price', async (t) => {
  t.equal(parseAddress(MULTICALL3_ADDRESS, 'multicall3'), MULTICALL3_ADDRESS)
  for (const environment of ENVIRONMENTS) {
    for (const network of NETWORKS) {
      const { priceFeeds, tokens } = PUBLIC_CONTRACTS[environment][network]
      const named = [...Object.entries(priceFeeds), ...tokens.map((token) => [token.symbol, token.address] as const)]
      for (const [symbol, address] of named) t.equal(parseAddress(address, symbol), address, `${network} ${symbol}`)
      t.ok(priceFeeds[NATIVE_SYMBOL[network]], `${environment} ${network} has a price`)
      t.equal(new Set(tokens.map((token) => token.symbol)).size, tokens.length, 'each symbol names one token')
    }
  }
})

t.test('the Keccak-256 in use is the one of another implementation, for bytes of any length', async (t) => {
  const EMPTY = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470' // Yellow Paper: KEC of no bytes.
  t.equal(Buffer.from(fastKeccak(new Uint8Array())).toString('hex'), EMPTY)
  // Blocks have 136 bytes: lengths around the first two, views into larger buffers, and whole ranges.
  for (const length of [1, 135, 136, 137, 271, 272, 273]) {
    const bytes = Buffer.alloc(length + 3, 0xa7).subarray(3)
    t.same(fastKeccak(bytes), keccak256._(bytes))
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1_000 }), (bytes) => {
      t.equal(Buffer.compare(fastKeccak(bytes), keccak256._(bytes)), 0)
    }),
  )
})
