/**
 * Addresses at the API: input in lower, upper or checksummed case, output with the EIP-55 checksum; a wrong checksum is
 * refused.
 */
import { keccak256 } from 'ethers/crypto'
import { ValidationFailed } from '../core/errors.ts'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const LOWER = /^[^A-F]*$/
const UPPER = /^[^a-f]*$/

const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000'

/** The character code of `8`: EIP-55 writes a letter in upper case where the hash digit is 8 or more. */
const EIGHT = 0x38

/**
 * Formats an address with its EIP-55 checksum; costs one keccak.
 *
 * @param address 20 bytes as `0x` and 40 hex digits in any case, from a node or this file, not from a user
 */
export function toChecksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = keccak256(Buffer.from(digits, 'latin1'))
  let out = '0x'
  for (let i = 0; i < 40; i++) {
    const digit = digits.charAt(i)
    out += hash.charCodeAt(i + 2) >= EIGHT ? digit.toUpperCase() : digit
  }
  return out
}

/**
 * Parses an address from a request.
 *
 * @param field the request field that an error names
 * @returns the address with its EIP-55 checksum
 * @throws ValidationFailed `invalid_address` when it is not an address, `bad_checksum` when its mixed case is wrong
 */
export function parseAddress(text: string, field: string): string {
  if (!ADDRESS.test(text)) {
    throw ValidationFailed.field(
      field,
      'invalid_address',
      `${field} must be an address: 0x and 40 hexadecimal digits, such as 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045.`,
    )
  }
  const checksummed = toChecksumAddress(text)
  const digits = text.slice(2)
  if (text !== checksummed && !LOWER.test(digits) && !UPPER.test(digits)) {
    throw ValidationFailed.field(
      field,
      'bad_checksum',
      `${field} does not match its EIP-55 checksum: a character is probably mistyped. ` +
        'Copy the address again. An address in lower case only is accepted without a checksum.',
    )
  }
  return checksummed
}

/**
 * Parses the address of a recipient.
 *
 * @throws ValidationFailed as `parseAddress`, and `zero_address`: assets sent there are lost
 */
export function parseRecipient(text: string, field = 'to'): string {
  const address = parseAddress(text, field)
  if (address === ZERO_ADDRESS) {
    throw ValidationFailed.field(
      field,
      'zero_address',
      `${field} is the zero address: assets that are sent there are lost.`,
    )
  }
  return address
}
