internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Text
internal import Traffic
internal import Workbench

/// Everything that a text may mean, by kind. Without a text, the pages and actions of the place.
struct FindView: Page {
    static let template = "find"
    static let tab = Tab.home

    let title = "Find"
    let text: String
    let hasText: Bool
    let groups: [FoundGroup]
    /// A sentence if nothing is found.
    let nothing: String?
    /// A sentence about records that were not searched.
    let remark: String?
    let back: String
    let milliseconds: String

    /// Lists what the text of the request may mean in a place.
    /// - Parameter isExplained: true if the text was looked for as a token of all containers, and is none.
    static func load(_ visit: Visit, isExplained: Bool = false) async throws -> FindView {
        let text = (visit.fields["q"] ?? "").trimmingSpaces
        let words = FoundWords(text)
        let records = try await FoundRecords(words, visit)
        let groups: [FoundGroup?] = [
            FoundGroup("Tokens and requests", of: try await values(text, isExplained: isExplained, visit), words),
            FoundGroup("Pages", of: Tab.allCases.filter(visit.offers).map { Found($0.title, href: visit.place.link($0.rawValue)) }, words, limit: 40),
            FoundGroup("Actions", of: actions(visit), words, limit: 20),
            FoundGroup("Record types", of: visit.types.map { Found($0.name.string, href: visit.place.link("type", [("type", $0.name.string)])) }, words),
            FoundGroup(
                "Zones", of: visit.zones.map { Found(visit.zoneName($0.zoneID), note: visit.ownerName($0.zoneID), href: visit.place.link(toZone: $0.zoneID)) }, words),
            records.group,
            FoundGroup("Saved queries", of: savedQueries(visit), words),
            words.isEmpty ? nil : FoundGroup("Clients", of: clients(visit), words),
            FoundGroup("API tokens and keys", of: credentials(visit), words),
            words.isEmpty ? nil : FoundGroup("Users", of: users(visit), words),
            containers(visit.containers, visit.accounts, words),
        ]
        return FindView(
            text: text, groups: sorted(groups), nothing: "Nothing in this database has a name or a title with this text.", remark: records.remark,
            back: visit.place.link(Tab.query.rawValue), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// Lists the containers with a text in their names.
    static func load(_ fields: FormFields, console: Console) async throws -> FindView {
        let stopwatch = Stopwatch()
        let containers = try await stopwatch.measure { try await console.containers() }
        let text = (fields["q"] ?? "").trimmingSpaces
        let words = FoundWords(text)
        let actions = console.connections == nil ? [] : [Found("Connect a container in iCloud", href: "/connect")]
        return FindView(
            text: text, groups: sorted([Self.containers(containers, console.accounts, words), FoundGroup("Actions", of: actions, words)]),
            nothing: "No container has a name with this text, and no record, type or zone has exactly this name.", remark: nil, back: "/",
            milliseconds: stopwatch.elapsed.millisecondsText)
    }

    private init(text: String, groups: [FoundGroup], nothing: String, remark: String?, back: String, milliseconds: String) {
        (self.groups, self.remark, self.back, self.milliseconds) = (groups, remark, back, milliseconds)
        self.text = PastedValue(text).holdsCredential ? "…" : text
        hasText = !text.isEmpty
        self.nothing = groups.isEmpty ? nothing : nil
    }

    /// Groups with an exact match come first.
    private static func sorted(_ groups: [FoundGroup?]) -> [FoundGroup] {
        let groups = groups.compactMap(\.self)
        return groups.filter(\.hasExactMatch) + groups.filter { !$0.hasExactMatch }
    }

    /// The request with this id, and the explanation of a token or another value. Both need the whole text.
    private static func values(_ text: String, isExplained: Bool, _ visit: Visit) async throws -> [Found] {
        var values: [Found] = []
        if text.utf8.count == 36, let request = visit.log.request(text.lowercased()) {
            values.append(Found("Request \(request.operation)", href: visit.place.link(Tab.requests.rawValue, [("id", request.id)]), names: [text]))
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
        if visit.canEditSchema { actions.append(Found("New record type", note: "on Record types", href: place.link(Tab.types.rawValue))) }
        actions.append(Found("New API token", note: "on API tokens & keys", href: place.link(Tab.keys.rawValue)))
        actions.append(Found("New user", note: "on Users", href: place.link(Tab.users.rawValue)))
        actions += Environment.allCases.filter { $0 != place.address.environment && visit.connection == nil }.map { environment in
            Found("Switch to \(environment.rawValue)", href: place.with { $0.address.environment = environment; $0.zone = .unspecified }.link(Tab.query.rawValue))
        }
        actions += DatabaseScope.allCases.filter { $0 != place.address.scope && visit.connection?.reach.contains($0) ?? true }.map { scope in
            Found("Switch to the \(scope.rawValue) database", href: place.with { $0.address.scope = scope; $0.zone = .unspecified }.link(Tab.query.rawValue))
        }
        if visit.connection == nil, visit.engine.can(.editContainers) {
            actions.append(Found("Rename or delete the container", note: container, href: FormFields.url("/container", [("container", container)])))
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
            return Found(saved.name, note: "\(saved.scope.rawValue) database", href: there.link(Tab.query.rawValue, FormFields(encoded: saved.question.utf8).pairs))
        }
    }

    private static func credentials(_ visit: Visit) -> [Found] {
        let (container, environment) = (visit.place.address.container, visit.place.address.environment)
        let keys = visit.place.link(Tab.keys.rawValue)
        let tokens = visit.accounts.apiTokens().filter { $0.container == container && $0.environment == environment && $0.isLive }
        let serverKeys = visit.accounts.serverKeys().filter { $0.container == container && $0.environment == environment && $0.revoked == nil }
        return tokens.map { Found($0.name, note: "API token \($0.id)…", href: keys) } + serverKeys.map { Found($0.name, note: "server-to-server key", href: keys) }
    }

    private static func clients(_ visit: Visit) -> [Found] {
        visit.log.clients.histories(in: visit.place.address.container).map { client in
            Found(client.identity.label, note: visit.people.name(of: client.user), href: "\(visit.place.link(Tab.clients.rawValue))#\(client.anchor)", names: [client.identity.label, client.id])
        }
    }

    private static func users(_ visit: Visit) -> [Found] {
        guard visit.connection == nil else { return [] }
        return visit.people.users.map { user in
            Found(user.displayName, note: "act as \(user.handle)", href: visit.place.acting(as: user).link(Tab.zones.rawValue))
        }
    }

    private static func containers(_ containers: [ContainerID], _ accounts: Accounts, _ words: FoundWords) -> FoundGroup? {
        FoundGroup("Containers", of: containers.map { Found($0.description, href: Finder.place($0, accounts).link(Tab.query.rawValue)) }, words)
    }
}
