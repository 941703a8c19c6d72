internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Text
internal import Traffic
internal import Workbench

/// The search box: redirects to the one thing that a text names exactly, or lists everything that it may mean.
enum Finder {
    /// Searches one place first, then the container names.
    static func answer(_ visit: Visit) async throws -> Answer {
        let text = (visit.fields["q"] ?? "").trimmingSpaces
        let value = try await PastedValue.read(text)
        // No store is asked for a credential: one in iCloud would get it as a record name. A record's name may have 64 digits.
        if let credential = visit.accounts.kind(of: value) ?? value.kind?.credential, credential != .digits64 {
            return .redirect(visit.place.link(to: credential))
        }
        if let match = try await match(text, in: visit) { return .redirect(match) }
        if let container = container(named: text, in: visit.containers) { return .redirect(place(container, visit.accounts).link(Tab.query.rawValue)) }
        if let explanation = try await value.explanation(visit) { return .redirect(explanation.href) }
        return .page(try await FindView.load(visit, isExplained: true))
    }

    /// Searches all containers as the developer.
    static func answer(_ fields: FormFields, console: Console) async throws -> Answer {
        let text = (fields["q"] ?? "").trimmingSpaces
        let containers = try await console.containers()
        if let container = container(named: text, in: containers) { return .redirect(place(container, console.accounts).link(Tab.query.rawValue)) }
        let value = try await PastedValue.read(text)
        if let credential = console.accounts.kind(of: value) ?? value.kind?.credential, credential != .digits64, let container = containers.first {
            return .redirect(place(container, console.accounts).link(to: credential))
        }
        // A text is not sent to every container in iCloud.
        for container in containers where !text.isEmpty && console.accounts.connections(of: container).isEmpty {
            do {
                let visit = try await Visit(place(container, console.accounts), fields: fields, console: console, containers: containers)
                if let match = try await match(text, in: visit) { return .redirect(match) }
            } catch is RecordError {
                // The start page marks unreadable containers. The search skips them.
                continue
            }
        }
        // An explanation searches all containers, so one readable place is enough.
        for container in containers where !value.isEmpty && console.accounts.connections(of: container).isEmpty {
            do {
                let visit = try await Visit(place(container, console.accounts), fields: fields, console: console, containers: containers)
                if let explanation = try await value.explanation(visit) { return .redirect(explanation.href) }
                break
            } catch is RecordError {
                continue
            }
        }
        return .page(try await FindView.load(fields, console: console))
    }

    private static func match(_ text: String, in visit: Visit) async throws -> String? {
        if text.isEmpty { return nil }
        let place = visit.place
        let name = Name(text)
        if visit.schema?.types[name] != nil { return place.link("type", [("type", text)]) }
        if let zone = visit.zones.first(where: { $0.zoneID.zoneName == name }) { return place.link(toZone: zone.zoneID) }
        let zoneIDs = (visit.place.zoneID.map { [$0] } ?? []) + visit.zones.map(\.zoneID)
        if let record = try await ZoneSearch(for: [name], in: zoneIDs, of: visit).records[name]?.first {
            return place.link(toRecord: name, in: record.recordID.zoneID)
        }
        // The uuid of an API error is the id of its request.
        if text.utf8.count == 36, let request = visit.log.request(text.lowercased()) { return place.link(Tab.requests.rawValue, [("id", request.id)]) }
        if let user = visit.people.user(named: text) ?? visit.people.users.first(where: { Name($0.displayName) == name }) {
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
        engine.can(.listContainers) ? try await engine.containers() : []
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
