internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records
internal import Traffic

extension Console {
    /// Adds the pages that show the web service requests, the clients that sent them, and how far these are.
    func addRequestPages(to router: Routes.Group, queryForm: @escaping RequestedQuery.Form) {
        show("requests", on: router) { visit in
            guard let id = visit.fields.text("id") else { return .page(try await RequestsView.load(visit)) }
            // An open server shows every record to everyone who sees this page, so there is nothing to hide.
            let showsValues = visit.fields["values"].map { $0 == "1" } ?? (access.mode == .open)
            return .page(try await RequestView.load(id, visit, canReplay: webServices != nil, showsValues: showsValues))
        }
        // The addresses of Query and Explain contain the compared values. The request page
        // therefore links to this redirect, which builds them only on demand.
        show("requests/explain", on: router) { visit in
            guard let id = visit.fields.text("id"), let request = visit.log.request(id),
                let asked = RequestedQuery(request, body: visit.log.bodies(of: request.id)?.request)
            else { throw RecordError(.notFound, "The log no longer has the query of this request") }
            return .redirect(try asked.address(on: visit.fields["on"] == "query" ? "query" : "explain", visit, form: queryForm))
        }
        show("sync", on: router) { .page(try await SyncView.load($0)) }
        show("clients", on: router) { .page(try await ClientsView.load($0)) }
        show("telemetry", on: router) { .page(try await TelemetryView.load($0)) }
        addReplay(to: router)
    }

    private func addReplay(to router: Routes.Group) {
        guard let webServices else { return }
        show("requests/replay", on: router) { visit in .page(try RequestReplay(visit.fields["id"], in: log).confirmation(visit)) }
        router.post("\(Self.placePath)/requests/replay") { request, context in
            let fields = try await request.form(.names)
            let visit = try await Visit(request, context, fields: fields, console: self)
            return try await response(to: visit) {
                let replay = try RequestReplay(fields["id"], in: log)
                let id = try await replay.send(to: webServices, from: request, context)
                let parameters = [("id", replay.served.id), ("with", id)] + (fields["values"].map { [("values", $0)] } ?? [])
                return .redirect(visit.place.link("requests", parameters.map { (name: $0.0, value: $0.1) }))
            }
        }
    }
}
