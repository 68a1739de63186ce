// The library's door for clocks: how far this one is from the server's, and when a message was due.

export { LinkClock, whenDue } from './link-clock.ts'
