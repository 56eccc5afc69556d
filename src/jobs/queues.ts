/**
 * The definition of a job: a queue, an id and a few ids as data. A job is a hint that there is work; the work itself is
 * in the log.
 */
import { ValidationFailed } from '../core/errors.ts'
import type { QueueName } from '../core/registry.ts'

/** Names and ids only, never amounts or states: those are read from the log when the job runs. */
export type JobData = Readonly<Record<string, string>>

export type Job = {
  readonly queue: QueueName
  /** Jobs of one queue with the same id are one job while it waits. */
  readonly id: string
  readonly data: JobData
}

/** Ids are short and printable; Bursar creates no other ids. */
const ID = /^[\x21-\x7e]{1,256}$/
/** A job identifies its work by a few ids. More would be a payload, which does not belong in a queue. */
const MAX_FIELDS = 8

/** @throws ValidationFailed `malformed_job` when the data contains anything but ids */
export function assertJob(job: Job): void {
  if (!ID.test(job.id)) throw malformed('id', 'the job id must be 1 to 256 printable characters without spaces')
  parseJobData(job.data)
}

/**
 * Parses the data of a job from a queue, which other programs may have written.
 *
 * @throws ValidationFailed `malformed_job`, which is not retryable
 */
export function parseJobData(data: unknown): JobData {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw malformed('data', 'job data must be an object of ids')
  }
  const fields = Object.entries(data)
  if (fields.length > MAX_FIELDS)
    throw malformed('data', `job data has ${fields.length} fields, at most ${MAX_FIELDS} are allowed`)
  for (const [name, value] of fields) {
    if (typeof value !== 'string' || !ID.test(value)) {
      throw malformed(`data.${name}`, `${name} must be an id: 1 to 256 printable characters without spaces`)
    }
  }
  return Object.fromEntries(fields)
}

function malformed(field: string, rule: string): ValidationFailed {
  return ValidationFailed.field(field, 'malformed_job', `Malformed job: ${rule}.`)
}
