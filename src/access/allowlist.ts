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
  const parsed = parse(address)
  const most = bitsOf(parsed)
  const length = bits === undefined ? most : Number(bits)
  if (length > most) return null
  const range = unmapped(parsed, length)
  return hasHostBits(range) ? null : `${range[0].toString()}/${range[1]}`
}

/** The library takes `::1.2.3.4`, an address of IPv6, for the IPv4 one: the last numbers are written as those of IPv6. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!text.includes(':')) return ipaddr.parse(text)
  return ipaddr.parse(
    text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)/, (_, ...bytes: string[]) => {
      const [a, b, c, d] = bytes.slice(0, 4).map(Number) as [number, number, number, number]
      return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
    }),
  )
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

/**
 * Whether an address is in one of the ranges, in either form of an IPv4 address. A text that is no address is in none.
 *
 * @param ranges each as `canonicalRange` returns it
 */
export function rangeCheck(ranges: readonly string[]): (address: string) => boolean {
  const parsed = ranges.map(parsedRange)
  return (text) => {
    if (isIP(text) === 0) return false
    const address = parse(text)
    const asked = unmapped(address, bitsOf(address))
    return parsed.some((range) => isIn(asked, range))
  }
}

/** Whether each range is within one of the others. Everywhere, which is no range, is within everywhere alone. */
export function isWithin(ranges: readonly string[], others: readonly string[]): boolean {
  if (others.length === 0) return true
  const outer = others.map(parsedRange)
  return ranges.length > 0 && ranges.every((range) => outer.some((other) => isIn(parsedRange(range), other)))
}

function parsedRange(text: string): Range {
  return ipaddr.parseCIDR(text)
}

function isIn([address, bits]: Range, [base, length]: Range): boolean {
  return base.kind() === address.kind() && length <= bits && address.match(base, length)
}

function bitsOf(address: ipaddr.IPv4 | ipaddr.IPv6): number {
  return address.kind() === 'ipv4' ? 32 : 128
}
