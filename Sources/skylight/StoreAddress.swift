import ArgumentParser
import Foundation

/// Addresses of databases of PostgreSQL, as options have them.
enum StoreAddress {
    static func isOne(_ text: String) -> Bool { text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") }

    /// - Throws: `ValidationError` for another text, or an address with a password: every user of the machine can read the arguments of a process.
    static func check(_ text: String, in option: String) throws {
        if !isOne(text) { throw ValidationError("\(option) is an address such as postgres://user@host/database.") }
        if URLComponents(string: text)?.password != nil || text.contains("password=") {
            throw ValidationError("\(option) must not have the password: give it in PGPASSWORD or in libpq's password file.")
        }
    }
}
