/**
 * Converts the entropy of a seed to the bytes that keys are derived from (BIP-39, English, no passphrase) without an
 * intermediate string, so that everything can be wiped.
 */
import { createHash, pbkdf2Sync } from 'node:crypto'
import { wordlists } from 'ethers/wordlists'

const BITS_OF_A_WORD = 11
const LONGEST_WORD = 8
const ROUNDS = 2_048
const SEED_BYTES = 64
const SPACE = 0x20

/**
 * The BIP-39 seed, 64 bytes, for the caller to wipe.
 *
 * @param entropy 16 to 32 bytes, a multiple of four
 */
export function seedOfEntropy(entropy: Uint8Array): Uint8Array {
  const phrase = phraseOf(entropy)
  try {
    return pbkdf2Sync(phrase, 'mnemonic', ROUNDS, SEED_BYTES, 'sha512')
  } finally {
    // The whole buffer, not only the part with the words.
    new Uint8Array(phrase.buffer).fill(0)
  }
}

/** The words separated by single spaces, as bytes. */
function phraseOf(entropy: Uint8Array): Uint8Array {
  if (entropy.length < 16 || entropy.length > 32 || entropy.length % 4 !== 0) {
    throw new RangeError('the entropy of a seed must have 16, 20, 24, 28 or 32 bytes')
  }
  const words = (entropy.length * 3) / 4
  const checksum = createHash('sha256').update(entropy).digest()
  const bits = new Uint8Array(entropy.length + 1)
  bits.set(entropy)
  bits[entropy.length] = checksum[0] ?? 0
  const phrase = new Uint8Array(words * (LONGEST_WORD + 1))
  let length = 0
  for (let word = 0; word < words; word += 1) {
    if (word > 0) phrase[length++] = SPACE
    // The word list is always in memory: reading a word from it leaves no trace.
    for (const letter of english().getWord(bitsAt(bits, word * BITS_OF_A_WORD))) {
      phrase[length++] = letter.charCodeAt(0)
    }
  }
  bits.fill(0)
  checksum.fill(0)
  return phrase.subarray(0, length)
}

function english() {
  const { en } = wordlists
  if (en === undefined) throw new Error('the English words of BIP-39 are missing')
  return en
}

/** Eleven bits starting at a bit index; they span at most three bytes. */
function bitsAt(bits: Uint8Array, place: number): number {
  const first = Math.floor(place / 8)
  const three = ((bits[first] ?? 0) << 16) | ((bits[first + 1] ?? 0) << 8) | (bits[first + 2] ?? 0)
  return (three >> (24 - BITS_OF_A_WORD - (place % 8))) & 0x7ff
}
