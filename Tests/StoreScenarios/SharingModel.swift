public import Records

/// The users who see each record of one zone, computed from scratch at each question.
public struct SharingModel: Sendable {
    /// The part of a user in a share.
    public struct Part: Sendable, Equatable {
        /// False for an invitation.
        public var hasAccepted = false
        public var mayWrite: Bool
        public var isAdministrator = false
        public var cameByLink = false

        public init(mayWrite: Bool, isAdministrator: Bool = false) {
            self.mayWrite = mayWrite
            self.isAdministrator = isAdministrator
        }
    }

    public struct Share: Sendable {
        public var name: Name
        /// `nil` if the whole zone is shared.
        public var root: Name?
        public var link: String
        public var publicPermission: SharePermission
        public var parts: [Name: Part]

        public init(name: Name, root: Name?, link: String, publicPermission: SharePermission, parts: [Name: Part]) {
            self.name = name
            self.root = root
            self.link = link
            self.publicPermission = publicPermission
            self.parts = parts
        }

        /// True if a guest may write; `nil` for users who are no guests.
        public func right(of user: Name) -> Bool? {
            guard let part = parts[user], part.hasAccepted else { return nil }
            return part.cameByLink ? publicPermission == .readWrite : part.mayWrite
        }
    }

    /// The parents of the living records.
    public var parents: [Name: Name?] = [:]
    public var shares: [Name: Share] = [:]

    public init() {}

    public var zoneShare: Share? { shares[Records.Share.zoneWideName] }

    /// The share that a record is in: that of the zone, or of the nearest root above it.
    public func share(of record: Name) -> Share? {
        if let zoneShare { return parents[record] == nil ? nil : zoneShare }
        var passed: Set<Name> = []
        var next: Name? = record
        while let name = next, let parent = parents[name], passed.insert(name).inserted {
            if let share = shares.values.first(where: { $0.root == name }) { return share }
            next = parent
        }
        return nil
    }

    /// True if the way up from a record comes back to it.
    public func isInCircle(_ record: Name) -> Bool {
        var passed: Set<Name> = []
        var next = parents[record] ?? nil
        while let name = next, passed.insert(name).inserted {
            if name == record { return true }
            next = parents[name] ?? nil
        }
        return false
    }

    /// True if a record is the root of a share below the root of another one, or shared and above the root of another
    /// one.
    public func isNested(_ record: Name) -> Bool {
        func isBelow(_ other: Name, _ isMeant: (Name) -> Bool) -> Bool {
            var passed: Set<Name> = []
            var next = parents[other] ?? nil
            while let name = next, parents[name] != nil, passed.insert(name).inserted {
                if isMeant(name) { return true }
                next = parents[name] ?? nil
            }
            return false
        }
        let isBelowRoot = isBelow(record, isRoot)
        if isRoot(record), isBelowRoot { return true }
        return (isRoot(record) || isBelowRoot)
            && shares.values.contains { share in
                share.root.map { root in root != record && isBelow(root) { $0 == record } } ?? false
            }
    }

    /// A record and all records below it.
    public func family(of record: Name) -> [Name] {
        var family = [record]
        var above: Set = [record]
        while !above.isEmpty {
            let children = parents.keys.filter { child in
                parents[child].flatMap { $0 }.map { above.contains($0) && !family.contains(child) } ?? false
            }
            family += children.sorted()
            above = Set(children)
        }
        return family
    }

    public func isRoot(_ record: Name) -> Bool { shares.values.contains { $0.root == record } }

    public func isGuest(_ user: Name) -> Bool { shares.values.contains { $0.right(of: user) != nil } }

    public func visible(to user: Name) -> Set<Name> {
        let mine = Set(shares.values.filter { $0.right(of: user) != nil }.map(\.name))
        return mine.isEmpty
            ? [] : mine.union(parents.keys.filter { share(of: $0).map { mine.contains($0.name) } ?? false })
    }

    public func mayWrite(_ record: Name, _ user: Name) -> Bool { share(of: record)?.right(of: user) ?? false }
}
