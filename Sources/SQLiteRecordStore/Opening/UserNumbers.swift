internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// The numbers of users in a store.
///
/// A user is entered with the first save, not by reading. Until then the number is the one that follows from the name, so tokens that were
/// given out before are good afterwards.
struct UserNumbers: Sendable {
    private var numbers: [Name: Int64]
    private var taken: Set<Int64>
    /// Those who came since the engine was made and saved nothing, by the numbers that they will have.
    private(set) var visitors: [Int64: Name]
    /// Visitors beyond which later ones are not remembered.
    private static let visitorLimit = 10_000

    init(_ users: [Name: Int64] = [:], visitors: [Int64: Name] = [:]) {
        numbers = users
        taken = Set(users.values)
        self.visitors = visitors
    }

    /// Whether the user was entered, or came of late.
    func knows(_ name: Name) -> Bool { numbers[name] != nil || visitors[number(of: name)] == name }

    /// Remembers who came, without writing anything.
    mutating func greet(_ name: Name) {
        if numbers[name] == nil, visitors.count < Self.visitorLimit { visitors[number(of: name)] = name }
    }

    func knownNumber(of name: Name) -> Int64? { numbers[name] }

    /// The number that a user has, or will have. It is never 0, which owns the public database.
    func number(of name: Name) -> Int64 {
        if let number = numbers[name] { return number }
        var number = Self.proposal(for: name)
        while taken.contains(number) { number = Self.following(number) }
        return number
    }

    mutating func note(_ number: Int64, of name: Name) {
        numbers[name] = number
        taken.insert(number)
    }

    /// Enters a user within the transaction of a save, unless that was done before.
    static func enter(_ name: Name, _ db: Database) throws -> Int64 {
        if let row = try Row.fetchOne(db, cachedSQL: "SELECT number FROM users WHERE name = ?", [name.string]) {
            return try row.value("number", in: "users")
        }
        var number = proposal(for: name)
        while try Bool.fetchOne(db, cachedSQL: "SELECT 1 FROM users WHERE number = ?", [number]) != nil { number = following(number) }
        try db.run("INSERT INTO users (number, name) VALUES (?, ?)", [number, name.string])
        return number
    }

    /// What tokens have room for: 32 bits. Few users share one, and then the later gets the next.
    private static func proposal(for name: Name) -> Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return max(1, Int64((hash >> 32 ^ hash) & 0xffff_ffff))
    }

    private static func following(_ number: Int64) -> Int64 { number == 0xffff_ffff ? 1 : number + 1 }
}
