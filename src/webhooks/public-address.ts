/** Which addresses a webhook may be sent to: those of the public internet, and ranges that the operator allows. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Answers on every virtual machine of Azure, with its secrets; a public address by every registry. */
const AZURE_HOST = '168.63.129.16'
/** All that is assigned for the public internet so far (RFC 4291, IANA's registry of IPv6 address space). */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3')

/** @param address an IP address as text */
export type IsAllowedAddress = (address: string) => boolean

/**
 * Refuses every address with a special purpose (RFC 6890): loopback, private, link-local and carrier networks,
 * multicast, and the forms of IPv6 that contain an IPv4 address. A text that is no address is refused.
 *
 * @param allowed CIDR ranges that are allowed in any case
 */
export function createIsAllowedAddress(allowed: readonly string[] = []): IsAllowedAddress {
  const ranges = allowed.map((range) => ipaddr.parseCIDR(range))
  return (text) => {
    if (isIP(text) === 0) return false
    const address = ipaddr.process(text)
    const isIn = (range: readonly [ipaddr.IPv4 | ipaddr.IPv6, number]) =>
      range[0].kind() === address.kind() && address.match([...range])
    if (ranges.some(isIn)) return true
    if (address.range() !== 'unicast' || address.toString() === AZURE_HOST) return false
    return address.kind() === 'ipv4' || isIn(PUBLIC_IPV6)
  }
}
