/** From which addresses a key may be used: ranges in CIDR notation, in one form for each range. Pure. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Range = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

/** The first bits of an IPv4 address in the form of IPv6 (RFC 4291 § 2.5.5.2). */
const MAPPED_BITS = 96

/**
 * The range in its only form: `203.0.113.0/24`, `2001:db8::/32`; an address is the range of itself, and an IPv4 address in the form
 * of IPv6 the one of IPv4.
 *
 * @returns null for a text that is no range, or has bits behind its prefix
 */
export function canonicalRange(text: string): string | null {
  const [address = '', bits, ...rest] = text.split('/')
  if (rest.length > 0 || isIP(address) === 0 || address.includes('%')) return null
  if (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)) return null
  const parsed = ipaddr.parse(address)
  const most = parsed.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? most : Number(bits)
  if (length > most) return null
  const range = unmapped(parsed, length)
  return hasHostBits(range) ? null : `${range[0].toString()}/${range[1]}`
}

function unmapped(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): Range {
  if (address.kind() === 'ipv4' || bits < MAPPED_BITS) return [address, bits]
  const v6 = address as ipaddr.IPv6
  return v6.isIPv4MappedAddress() ? [v6.toIPv4Address(), bits - MAPPED_BITS] : [address, bits]
}

function hasHostBits([address, bits]: Range): boolean {
  const bytes = address.toByteArray()
  return bytes.some((byte, n) => (byte & (0xff >> Math.min(8, Math.max(0, bits - n * 8)))) !== 0)
}

/** Whether an address is in one of the ranges, in either form of it. A text that is no address is in none. */
export function isAllowedFrom(address: string, ranges: readonly string[]): boolean {
  if (isIP(address) === 0) return false
  const asked = ipaddr.process(address)
  return ranges.some((range) => isIn([asked, asked.kind() === 'ipv4' ? 32 : 128], range))
}

/** Whether each range is within one of the others. Everywhere, which is no range, is within everywhere alone. */
export function isWithin(ranges: readonly string[], others: readonly string[]): boolean {
  if (others.length === 0) return true
  return ranges.length > 0 && ranges.every((range) => others.some((other) => isIn(ipaddr.parseCIDR(range), other)))
}

function isIn([address, bits]: Range, other: string): boolean {
  const [base, length] = ipaddr.parseCIDR(other)
  return base.kind() === address.kind() && length <= bits && address.match([base, length] as [ipaddr.IPv4, number])
}
