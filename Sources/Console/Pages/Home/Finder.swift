internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Text
internal import Traffic

/// The search box: redirects to the record, type, zone, token, request, user or container that best matches a text.
enum Finder {
    /// The maximum number of zones to search for a record name.
    private static let zoneLimit = 200
    /// The same in iCloud, where each zone takes a request.
    private static let connectedZoneLimit = 5

    /// Searches one place first, then the container names.
    static func answer(_ visit: Visit) async throws -> Answer {
        let text = (visit.fields["q"] ?? "").trimmingSpaces
        if let match = try await match(text, in: visit) { return .redirect(match) }
        if let container = container(named: text, in: visit.containers) { return .redirect(place(container, visit.accounts).link("query")) }
        return .page(NothingFoundView(text: text, back: visit.place.link("query"), isSomewhere: true))
    }

    /// Searches all containers as the developer.
    static func answer(_ fields: FormFields, console: Console) async throws -> Answer {
        let text = (fields["q"] ?? "").trimmingSpaces
        let containers = console.engine.can(.listContainers) ? try await console.engine.containers() : []
        if let container = container(named: text, in: containers) { return .redirect(place(container, console.accounts).link("query")) }
        // A text is not sent to every container in iCloud.
        for container in containers where console.accounts.connections(of: container).isEmpty {
            do {
                let visit = try await Visit(place(container, console.accounts), fields: fields, console: console, containers: containers)
                if let match = try await match(text, in: visit) { return .redirect(match) }
            } catch is RecordError {
                // The start page marks unreadable containers. The search skips them.
                continue
            }
        }
        return .page(NothingFoundView(text: text, back: "/", isSomewhere: false))
    }

    private static func match(_ text: String, in visit: Visit) async throws -> String? {
        if text.isEmpty { return nil }
        let place = visit.place
        let name = Name(text)
        if visit.schema?.types[name] != nil { return place.link("type", [("type", text)]) }
        if let zone = visit.zones.first(where: { $0.zoneID.zoneName == name }) {
            return place.inZone(zone.zoneID).link(visit.hasFeed(zone.zoneID) ? "changes" : "query")
        }
        if let record = try await record(name, in: visit) { return record }
        // The uuid of an API error is the id of its request.
        if text.utf8.count == 36, let request = visit.log.request(text.lowercased()) { return place.link("requests", [("id", request.id)]) }
        if text.utf8.count >= 24, try await visit.database.meaning(of: ChangeToken(text: text)) != nil
        {
            return place.link("token", [("token", text)])
        }
        if let user = visit.people.user(named: text) ?? visit.people.users.first(where: { Name($0.displayName) == name }) {
            let theirs = place.with {
                $0.user = user.handle == User.developerHandle ? nil : user.handle
                $0.zone = .unspecified
            }
            return theirs.link("zones")
        }
        return nil
    }

    /// The link to the record of a name, in the current zone or any other.
    private static func record(_ name: Name, in visit: Visit) async throws -> String? {
        let here = visit.place.zoneID.map { [$0] } ?? []
        let zoneIDs = here + visit.zones.prefix(visit.connection == nil ? zoneLimit : connectedZoneLimit).map(\.zoneID)
        let results = try await visit.database.fetch(zoneIDs.map { RecordID(recordName: name, zoneID: $0) }, desiredKeys: [])
        guard let record = results.lazy.compactMap({ try? $0.get() }).first else { return nil }
        return visit.place.link(toRecord: record.recordID.recordName, in: record.recordID.zoneID)
    }

    private static func container(named text: String, in containers: [ContainerID]) -> ContainerID? {
        containers.first { Name($0.description) == Name(text) }
    }

    private static func place(_ container: ContainerID, _ accounts: Accounts) -> Place {
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        return Place(
            address: address.reached(by: accounts.connections(of: container)), user: nil, zone: .unspecified)
    }
}
