import ArgumentParser
import Foundation

/// Addresses of databases of PostgreSQL, as options have them.
enum StoreAddress {
    static func isOne(_ text: String) -> Bool { text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") }

    /// - Throws: `ValidationError` for another text, or an address with a password.
    static func check(_ text: String, in option: String) throws {
        if !isOne(text) { throw ValidationError("\(option) is an address such as postgres://user@host/database.") }
        try checkSecrecy(of: text, in: option)
    }

    /// - Throws: `ValidationError` for any text that may have a password: every user of the machine can read the arguments of a process.
    static func checkSecrecy(of text: String, in option: String) throws {
        guard mayHavePassword(text) else { return }
        throw ValidationError(
            "\(option) must not have the password: give it in PGPASSWORD or in libpq's password file. An @ that ends no user's name is written %40.")
    }

    /// Refuses too much rather than too little. Where a password that is not in percent-encoding ends is anyone's guess, so any @ may end it.
    private static func mayHavePassword(_ text: String) -> Bool {
        // libpq decodes the names of parameters, too.
        if (text.removingPercentEncoding ?? text).contains(#/password\s*=/#) { return true }
        let bytes = text.utf8
        guard let start = bytes.firstRange(of: "://".utf8)?.upperBound, let end = bytes.lastIndex(of: UInt8(ascii: "@")), start < end else { return false }
        return bytes[start..<end].contains(UInt8(ascii: ":"))
    }
}
