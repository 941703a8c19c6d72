internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// Numbers of the users in a store.
///
/// A user gets a row with the first save, not by reading. Until then the number is derived from the name, so tokens
/// issued before the first save stay valid.
struct UserNumbers: Sendable {
    private var numbers: [Name: Int64]
    private var taken: Set<Int64>
    /// Users who called since the engine was created but saved nothing yet, by their future number.
    private(set) var visitors: [Int64: Name]
    /// Maximum number of remembered visitors.
    private static let visitorLimit = 10_000

    init(_ users: [Name: Int64] = [:], visitors: [Int64: Name] = [:]) {
        numbers = users
        taken = Set(users.values)
        self.visitors = visitors
    }

    /// True if the user has a row or is a remembered visitor.
    func knows(_ name: Name) -> Bool { numbers[name] != nil || visitors[number(of: name)] == name }

    /// Remembers a user in memory only.
    mutating func greet(_ name: Name) {
        if numbers[name] == nil, visitors.count < Self.visitorLimit { visitors[number(of: name)] = name }
    }

    func knownNumber(of name: Name) -> Int64? { numbers[name] }

    /// The number that the user has or will get. Never 0, which is reserved for the owner of the public database.
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

    /// Adds a row for the user in the transaction of a save, unless one exists.
    /// - Returns: the user's number.
    static func enter(_ name: Name, _ db: SQLConnection) throws -> Int64 {
        if let row = try SQLRow.fetchOne(db, sql: "SELECT number FROM users WHERE name = ?", [name.string]) {
            return try row.value("number", in: "users")
        }
        var number = proposal(for: name)
        while try Bool.fetchOne(db, sql: "SELECT 1 FROM users WHERE number = ?", [number]) != nil { number = following(number) }
        try db.run("INSERT INTO users (number, name) VALUES (?, ?)", [number, name.string])
        return number
    }

    /// Hashes the name to 32 bits, which is what tokens have room for. On the rare collision the later user gets the
    /// next free number.
    private static func proposal(for name: Name) -> Int64 {
        let hash = FNV1a(name.utf8).value
        return max(1, Int64((hash >> 32 ^ hash) & 0xffff_ffff))
    }

    private static func following(_ number: Int64) -> Int64 { number == 0xffff_ffff ? 1 : number + 1 }
}
