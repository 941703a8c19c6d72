internal import Records
package import Traffic

/// The latest requests of clients, on the start page, which waits for the first one, and on the page of one container.
package struct LatestRequests: ViewModel {
    struct Row: ViewModel {
        let iso: String
        let time: String
        let operation: String
        /// The page of the request; `nil` if its container does not exist.
        let href: String?
        let status: String
        let tone: String
        let errors: String?
        let client: String
        let database: String
    }

    /// True until the first request.
    let isWaiting: Bool
    /// True if the rows are all requests so far.
    let areFirst: Bool
    let rows: [Row]
    /// The page of all requests; `nil` if there is no container yet.
    let all: String?

    private static let limit = 5
    /// The number of rows on the page of one container, which has more to show.
    private static let shortLimit = 3

    /// - Returns: `nil` if the log keeps no requests.
    init?(_ log: RequestLog, in containers: [ContainerID]) {
        guard log.isOn else { return nil }
        let found = log.latest(Self.limit + 1) { !$0.client.isOfSkylight }
        isWaiting = found.isEmpty
        areFirst = !found.isEmpty && found.count <= Self.limit
        let now = Timestamp.now()
        rows = found.prefix(Self.limit).map { Row($0, at: now, in: containers) }
        all = containers.first.map { Place(address: DatabaseAddress(container: $0, environment: .development, scope: .private), user: nil, zone: .unspecified) }?
            .link(Tab.requests.rawValue)
    }

    /// The latest requests to the container and the environment of a place.
    /// - Returns: `nil` if the log keeps no requests.
    package init?(_ log: RequestLog, at place: Place) {
        guard log.isOn else { return nil }
        let (container, environment) = (place.address.container, place.address.environment)
        let found = log.latest(Self.shortLimit) { !$0.client.isOfSkylight && $0.container == container && ($0.environment ?? environment) == environment }
        isWaiting = found.isEmpty
        areFirst = false
        let now = Timestamp.now()
        rows = found.map { Row($0, at: now, in: [container], isNamed: false) }
        all = place.link(Tab.requests.rawValue)
    }
}

extension LatestRequests.Row {
    /// - Parameter isNamed: true to name the container.
    fileprivate init(_ request: ServedRequest, at now: Timestamp, in containers: [ContainerID], isNamed: Bool = true) {
        let text = request.started.utcText
        iso = request.started.isoText
        time = text.prefix(10) == now.utcText.prefix(10) ? String(text.dropFirst(11)) : text
        operation = request.operation
        let address = request.address ?? request.container.map { DatabaseAddress(container: $0, environment: .development, scope: .private) }
        let known = address.flatMap { address in containers.contains(address.container) ? address : nil }
        href = known.map { Place(address: $0, user: nil, zone: .unspecified).link(Tab.requests.rawValue, [("id", request.id)]) }
        status = request.statusWords
        tone = request.tone
        errors = request.errorWords
        client = request.client.label
        database = address.map { "\(isNamed ? "\($0.container), " : "")\($0.environment.rawValue), \($0.scope.rawValue)" } ?? ""
    }
}
