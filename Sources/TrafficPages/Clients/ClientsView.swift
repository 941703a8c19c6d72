internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The page Clients: the known clients, and the position of each in each zone.
struct ClientsView: Page {
    static let template = "clients"
    static let tab = Tab.clients

    /// The maximum number of clients on the page.
    private static let limit = 60

    let title = Self.tab.title
    let action: String
    let hidden: [Frame.Hidden]
    let `where`: String
    let areas: [Choice]
    /// True if request logging is off, so that no client is known.
    let isOff: Bool
    let clients: [ClientPanel]
    let more: String?
    let count: String
    let milliseconds: String
}

extension ClientsView {
    static func load(_ visit: Visit) async throws -> ClientsView {
        let place = visit.place
        let isOfServer = visit.fields["in"] == "server"
        let book = visit.log.clients
        let containers = isOfServer ? visit.containers : [place.address.container]
        let histories = containers.flatMap { book.histories(in: $0) }
            .sorted { ($0.parts.first?.lastSeen ?? .distantPast) > ($1.parts.first?.lastSeen ?? .distantPast) }
        let tokens = TokenReader(visit)
        var panels: [ClientPanel] = []
        for history in histories.prefix(limit) { panels.append(try await ClientPanel(history, tokens: tokens, visit: visit)) }
        let left = histories.count - panels.count
        return ClientsView(
            action: "\(place.path)/clients", hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
            where: isOfServer ? "this server" : "\(place.address.container)",
            areas: [
                Choice("", "clients of \(place.address.container)", isSelected: !isOfServer), Choice("server", "clients of all containers", isSelected: isOfServer),
            ],
            isOff: !visit.log.isOn, clients: panels, more: left > 0 ? "\(Digits.count(left, "more client")) seen earlier." : nil, count: Digits.count(histories.count, "client"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension Timestamp {
    fileprivate static let distantPast = Timestamp(milliseconds: .min)
}
