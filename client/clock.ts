// The library's door for clocks: how far this one is from the server's, how old a value is, and when a message was due.

export { ageOf, LinkClock, whenDue } from './link-clock.ts'
