internal import Accounts
internal import RecordStore
internal import Records
internal import RequestLog

/// Everything that a text may mean, by kind. Without a text, the pages and actions of the place.
package enum FindView {
    /// Lists what the text may mean while somebody types it. iCloud is not asked for that.
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        try await load(visit, isExplained: false)
    }

    /// Lists what the text of the request may mean in a place.
    /// - Parameter isExplained: true if the text was looked for as a token of all containers, and is none.
    fileprivate static func load(_ visit: Visit, isExplained: Bool) async throws -> ComponentPage {
        let text = (visit.fields["q"] ?? "").trimmingSpaces
        let words = SearchWords(text)
        let records = try await RecordMatches(words, visit)
        let groups: [SearchGroup?] = [
            SearchGroup("Tokens and requests", of: try await values(text, isExplained: isExplained, visit), words),
            SearchGroup(
                "Pages",
                of: Tab.allCases.filter(visit.offers).map { Found($0.title, href: visit.place.link($0.rawValue)) },
                words, limit: 40),
            SearchGroup("Actions", of: actions(visit), words, limit: 20),
            SearchGroup(
                "Record types",
                of: visit.types.map {
                    Found($0.name.string, href: visit.place.link("type", [("type", $0.name.string)]))
                }, words),
            SearchGroup(
                "Zones",
                of: visit.zones.map {
                    Found(
                        visit.zoneName($0.zoneID), note: visit.ownerName($0.zoneID),
                        href: visit.place.link(toZone: $0.zoneID))
                }, words),
            records.group,
            SearchGroup("Saved queries", of: savedQueries(visit), words),
            words.isEmpty ? nil : SearchGroup("Clients", of: clients(visit), words),
            SearchGroup("API tokens and keys", of: credentials(visit), words),
            words.isEmpty ? nil : SearchGroup("Users", of: users(visit), words),
            containers(visit.containers, visit.accounts, words),
        ]
        return page(
            text, groups, nothing: "Nothing in this database has a name or a title with this text.",
            remark: records.remark, back: visit.place.link(Tab.query.rawValue))
    }

    /// Lists the containers with a text in their names.
    package static func list(_ asked: ConsoleRequest) async throws -> Answer {
        .page(try await load(asked))
    }

    fileprivate static func load(_ asked: ConsoleRequest) async throws -> ComponentPage {
        let console = asked.console
        let containers = try await asked.stopwatch.measure { try await console.containers() }
        let text = (asked.query["q"] ?? "").trimmingSpaces
        let words = SearchWords(text)
        let actions = console.connections == nil ? [] : [Found("Connect a container in iCloud", href: "/connect")]
        return page(
            text,
            [Self.containers(containers, console.accounts, words), SearchGroup("Actions", of: actions, words)],
            nothing: "No container has a name with this text, and no record, type or zone has exactly this name.",
            remark: nil, back: "/")
    }

    /// - Parameters:
    ///   - nothing: a sentence if nothing is found.
    ///   - remark: a sentence about records that were not searched.
    private static func page(
        _ text: String, _ groups: [SearchGroup?], nothing: String, remark: String?, back: String
    ) -> ComponentPage {
        var parts: [any Component] = sorted(groups)
        if parts.isEmpty { parts.append(Paragraph(Inline(nothing))) }
        if let remark { parts.append(Paragraph.faint(Inline(remark))) }
        let shown = PastedValue(text).holdsCredential ? "…" : text
        return ComponentPage(
            .home,
            PageHead(
                "Find",
                text.isEmpty ? [] : ["Pages, records and more with \(.code(shown)) in their names, in any case."],
                actions: [.button("Back", back)]), [Columns(style: "hits", parts)])
    }

    /// Groups with an exact match come first.
    private static func sorted(_ groups: [SearchGroup?]) -> [SearchGroup] {
        let groups = groups.compactMap(\.self)
        return groups.filter(\.hasExactMatch) + groups.filter { !$0.hasExactMatch }
    }

    /// The request with this id, and the explanation of a token or another value. Both need the whole text.
    private static func values(_ text: String, isExplained: Bool, _ visit: Visit) async throws -> [Found] {
        var values: [Found] = []
        if text.utf8.count == 36, let request = visit.log.request(text.lowercased()) {
            values.append(
                Found(
                    "Request \(request.operation)", href: visit.place.link(Tab.requests.rawValue, [("id", request.id)]),
                    names: [text]))
        }
        if !isExplained, let explanation = try await PastedValue.read(text).explanation(visit) {
            values.append(Found(explanation.title, href: explanation.href, names: [text]))
        }
        return values
    }

    private static func actions(_ visit: Visit) -> [Found] {
        let place = visit.place
        let container = place.address.container.description
        var actions: [Found] = []
        if visit.connection?.isReadOnly != true { actions.append(Found("New record", href: place.link("record/new"))) }
        actions.append(Found("New zone", note: "on Zones", href: place.link(Tab.zones.rawValue)))
        if visit.canEditSchema {
            actions.append(Found("New record type", note: "on Record types", href: place.link(Tab.types.rawValue)))
        }
        actions.append(Found("New API token", note: "on Keys", href: place.link(Tab.keys.rawValue)))
        actions.append(Found("New user", note: "on Users", href: place.link(Tab.users.rawValue)))
        actions += Environment.allCases.filter { $0 != place.address.environment && visit.connection == nil }.map {
            environment in
            Found(
                "Switch to \(environment.rawValue)",
                href: place.with {
                    $0.address.environment = environment; $0.zone = .unspecified
                }.link(Tab.query.rawValue))
        }
        actions += DatabaseScope.allCases.filter {
            $0 != place.address.scope && visit.connection?.reach.contains($0) ?? true
        }.map { scope in
            Found(
                "Switch to the \(scope.rawValue) database",
                href: place.with {
                    $0.address.scope = scope; $0.zone = .unspecified
                }.link(Tab.query.rawValue))
        }
        if visit.connection == nil, visit.engine.can(.editContainers) {
            actions.append(
                Found(
                    "Rename or delete the container", note: container,
                    href: FormFields.url("/container", [("container", container)])))
        }
        if visit.connections != nil { actions.append(Found("Connect a container in iCloud", href: "/connect")) }
        return actions
    }

    private static func savedQueries(_ visit: Visit) -> [Found] {
        visit.accounts.savedQueries(of: visit.place.address.container).map { saved in
            let there = visit.place.with {
                $0.address.scope = saved.scope
                $0.zone = Place.zone(saved.zone, owner: nil, in: saved.scope)
            }
            return Found(
                saved.name, note: "\(saved.scope.rawValue) database",
                href: there.link(Tab.query.rawValue, FormFields(encoded: saved.question.utf8).pairs))
        }
    }

    private static func credentials(_ visit: Visit) -> [Found] {
        let (container, environment) = (visit.place.address.container, visit.place.address.environment)
        let keys = visit.place.link(Tab.keys.rawValue)
        let tokens = visit.accounts.apiTokens().filter {
            $0.container == container && $0.environment == environment && $0.isLive
        }
        let serverKeys = visit.accounts.serverKeys().filter {
            $0.container == container && $0.environment == environment && $0.revoked == nil
        }
        return tokens.map { Found($0.name, note: "API token \($0.id)…", href: keys) }
            + serverKeys.map { Found($0.name, note: "server-to-server key", href: keys) }
    }

    private static func clients(_ visit: Visit) -> [Found] {
        visit.log.clients.histories(in: visit.place.address.container).map { client in
            Found(
                client.identity.label, note: visit.people.name(of: client.user),
                href: "\(visit.place.link(Tab.clients.rawValue))#\(client.anchor)",
                names: [client.identity.label, client.id])
        }
    }

    private static func users(_ visit: Visit) -> [Found] {
        guard visit.connection == nil else { return [] }
        return visit.people.users.map { user in
            Found(
                user.displayName, note: "act as \(user.handle)",
                href: visit.place.acting(as: user).link(Tab.zones.rawValue))
        }
    }

    private static func containers(_ containers: [ContainerID], _ accounts: Accounts, _ words: SearchWords)
        -> SearchGroup?
    {
        SearchGroup(
            "Containers",
            of: containers.map { Found($0.description, href: Finder.place($0, accounts).link(Tab.query.rawValue)) },
            words)
    }
}

// MARK: - Groups

/// One thing that a search may mean.
struct Found: ViewModel {
    let text: String
    let note: String?
    let href: String
    /// The texts that a search compares with, in full length.
    private let names: [String]

    /// - Parameter names: the full names; `nil` for the text alone.
    init(_ text: String, note: String? = nil, href: String, names: [String]? = nil) {
        (self.text, self.note, self.href, self.names) = (text, note, href, names ?? [text])
    }

    /// - Returns: `nil` if a word is in none of the names and not in the note. The lowest rank is the best match.
    func rank(_ words: SearchWords) -> Int? {
        words.rank(of: names, note: note)
    }
}

/// The matches of one kind, the better ones first.
struct SearchGroup: Component {
    static let template = "search_group"

    let title: String
    let items: [Found]
    /// `12 more: type more of the name`.
    let more: String?
    /// True if the text is the whole name of one.
    let hasExactMatch: Bool

    static let limit = 8

    /// - Returns: `nil` if nothing matches.
    init?(_ title: String, of all: [Found], _ words: SearchWords, limit: Int = limit, isCut: Bool = false) {
        let ranked = all.enumerated().compactMap { index, item in
            item.rank(words).map { (rank: $0, index: index, item: item) }
        }
        .sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }
        if ranked.isEmpty { return nil }
        self.title = title
        items = ranked.prefix(limit).map(\.item)
        let left = ranked.count - items.count
        let rest = isCut ? "and more" : left > 0 ? "\(Digits.grouped(left)) more" : nil
        more = rest.map { "\($0): type more of the name" }
        hasExactMatch = ranked[0].rank == SearchWords.exactRank
    }
}

/// The words of a search, in any case and order.
struct SearchWords: Sendable {
    static let exactRank = 0

    /// The text as it was typed.
    let typed: String
    private let text: String
    private let words: [String]

    init(_ text: String) {
        typed = text
        self.text = text.lowercased()
        words = self.text.split(separator: " ").map(String.init)
    }

    var isEmpty: Bool { words.isEmpty }

    /// - Returns: 0 for a whole name, 1 for the beginning of one, 2 for parts; `nil` if a word is missing.
    func rank(of names: [String], note: String? = nil) -> Int? {
        if words.isEmpty { return 2 }
        let names = names.map { $0.lowercased() }
        if names.contains(text) { return Self.exactRank }
        let note = note?.lowercased() ?? ""
        guard words.allSatisfy({ word in note.contains(word) || names.contains { $0.contains(word) } }) else {
            return nil
        }
        return names.contains { $0.hasPrefix(text) } ? 1 : 2
    }
}

// MARK: - Records

/// The records of a database with a text in their name or title.
struct RecordMatches {
    let group: SearchGroup?
    /// A sentence about records that were not searched.
    let remark: String?

    init(_ words: SearchWords, _ visit: Visit) async throws {
        guard !words.isEmpty, visit.database.can(.listRecords) else {
            (group, remark) = (nil, nil)
            return
        }
        let here = visit.place.zoneID
        let zoneIDs =
            (here.map { [$0] } ?? [])
            + visit.zones.map(\.zoneID).filter { zoneID in here.map { !visit.place.isSame($0, zoneID) } ?? true }
        let search = try await RecordSearch(words, in: zoneIDs, visit)
        let isShort = search.matches.count <= SearchGroup.limit
        group = SearchGroup(
            "Records", of: search.matches.map { Found($0, visit) }, words,
            isCut: search.hasMore || search.isCut && !isShort)
        remark =
            !search.isCut || !isShort
            ? nil
            : "Parts of names and titles were searched in \(Digits.count(search.count, "record")); the others are found by their whole name."
    }
}

extension Found {
    fileprivate init(_ match: RecordSearch.Match, _ visit: Visit) {
        let recordID = match.record.recordID
        let name = recordID.recordName.string
        let place = "\(match.record.recordType.string) in \(visit.zoneName(recordID.zoneID))"
        self.init(
            match.title ?? name, note: match.title == nil ? place : "\(name) · \(place)",
            href: visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID),
            names: [name] + (match.wholeTitle.map { [$0] } ?? []))
    }
}

// MARK: - Answers with one result

/// The search box: redirects to the one thing that a text names exactly, or lists everything that it may mean.
package enum Finder {
    /// Searches one place first, then the container names.
    package static func answer(_ visit: Visit) async throws -> Answer {
        let text = (visit.fields["q"] ?? "").trimmingSpaces
        let value = try await PastedValue.read(text)
        // No store is asked for a credential: one in iCloud would get it as a record name. A record's name may have 64
        // digits.
        if let credential = visit.accounts.kind(of: value) ?? value.kind?.credential, credential != .digits64 {
            return .redirect(visit.place.link(to: credential))
        }
        if let match = try await match(text, in: visit) { return .redirect(match) }
        if let container = container(named: text, in: visit.containers) {
            return .redirect(place(container, visit.accounts).link(Tab.query.rawValue))
        }
        if let explanation = try await value.explanation(visit) { return .redirect(explanation.href) }
        return .page(try await FindView.load(visit, isExplained: true))
    }

    /// Searches all containers as the developer.
    package static func answer(everywhere asked: ConsoleRequest) async throws -> Answer {
        let (console, fields) = (asked.console, asked.query)
        let text = (asked.query["q"] ?? "").trimmingSpaces
        let containers = try await console.containers()
        if let container = container(named: text, in: containers) {
            return .redirect(place(container, console.accounts).link(Tab.query.rawValue))
        }
        let value = try await PastedValue.read(text)
        if let credential = console.accounts.kind(of: value) ?? value.kind?.credential, credential != .digits64,
            let container = containers.first
        {
            return .redirect(place(container, console.accounts).link(to: credential))
        }
        // A text is not sent to every container in iCloud.
        for container in containers where !text.isEmpty && console.accounts.connections(of: container).isEmpty {
            do {
                let visit = try await Visit(
                    place(container, console.accounts), fields: fields, console: console, containers: containers)
                if let match = try await match(text, in: visit) { return .redirect(match) }
            } catch is RecordError {
                // The start page marks unreadable containers. The search skips them.
                continue
            }
        }
        // An explanation searches all containers, so one readable place is enough.
        for container in containers where !value.isEmpty && console.accounts.connections(of: container).isEmpty {
            do {
                let visit = try await Visit(
                    place(container, console.accounts), fields: fields, console: console, containers: containers)
                if let explanation = try await value.explanation(visit) { return .redirect(explanation.href) }
                break
            } catch is RecordError {
                continue
            }
        }
        return .page(try await FindView.load(asked))
    }

    private static func match(_ text: String, in visit: Visit) async throws -> String? {
        if text.isEmpty { return nil }
        let place = visit.place
        let name = Name(text)
        if visit.schema?.types[name] != nil { return place.link("type", [("type", text)]) }
        if let zone = visit.zones.first(where: { $0.zoneID.zoneName == name }) {
            return place.link(toZone: zone.zoneID)
        }
        let zoneIDs = (visit.place.zoneID.map { [$0] } ?? []) + visit.zones.map(\.zoneID)
        if let record = try await ZoneSearch(for: [name], in: zoneIDs, of: visit).records[name]?.first {
            return place.link(toRecord: name, in: record.recordID.zoneID)
        }
        // The uuid of an API error is the id of its request.
        if text.utf8.count == 36, let request = visit.log.request(text.lowercased()) {
            return place.link(Tab.requests.rawValue, [("id", request.id)])
        }
        if let user = visit.people.user(named: text)
            ?? visit.people.users.first(where: { Name($0.displayName) == name })
        {
            return place.acting(as: user).link(Tab.zones.rawValue)
        }
        return nil
    }

    private static func container(named text: String, in containers: [ContainerID]) -> ContainerID? {
        containers.first { Name($0.description) == Name(text) }
    }

    static func place(_ container: ContainerID, _ accounts: Accounts) -> Place {
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        return Place(
            address: address.reached(by: accounts.connections(of: container)), user: nil, zone: .unspecified)
    }
}

extension Console {
    /// Empty for an engine that does not list them.
    func containers() async throws -> [ContainerID] {
        engine.can(.listContainers) ? try await engine.require(.listContainers).containers() : []
    }
}

extension Place {
    /// The changes of a zone, or its records where there are none.
    func link(toZone zoneID: ZoneID) -> String {
        inZone(zoneID).link((hasFeed && !zoneID.isDefault ? Tab.changes : .query).rawValue)
    }

    /// The same place as another user, in no zone.
    func acting(as user: User) -> Place {
        with {
            $0.user = user.handle == User.developerHandle ? nil : user.handle
            $0.zone = .unspecified
        }
    }
}
