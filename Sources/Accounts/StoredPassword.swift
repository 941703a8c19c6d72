internal import Foundation
internal import GRDB

/// The stored form of the administrator's password.
struct StoredPassword: Sendable, Hashable {
    /// Minimum length in Unicode scalars.
    static let shortest = 8
    /// Maximum length in bytes.
    static let longest = 1024

    let salt: [UInt8]
    let hash: [UInt8]
    let cost: PasswordHashing.Cost

    init(salt: [UInt8], hash: [UInt8], cost: PasswordHashing.Cost) {
        self.salt = salt
        self.hash = hash
        self.cost = cost
    }

    init?(_ database: Database) throws {
        guard let row = try Row.fetchOne(database, sql: "SELECT * FROM administrator") else { return nil }
        salt = Array(try row.value("salt") as Data)
        hash = Array(try row.value("hash") as Data)
        cost = PasswordHashing.Cost(rounds: try row.value("rounds"), blockSize: try row.value("blockSize"), parallelism: try row.value("parallelism"))
    }

    func write(_ database: Database) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO administrator (number, salt, hash, rounds, blockSize, parallelism) VALUES (1, ?, ?, ?, ?, ?)",
            arguments: [Data(salt), Data(hash), cost.rounds, cost.blockSize, cost.parallelism])
    }
}
