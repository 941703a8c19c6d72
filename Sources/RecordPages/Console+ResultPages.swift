internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Console {
    /// Adds result downloads and the actions for the records ticked on a page.
    func addResultPages(to router: Routes.Group) {
        for format in ResultFormat.allCases {
            file("query.\(format.rawValue)", on: router) { try await QueryResults($0, format: format, origin: $1).response() }
            file("fetch.\(format.rawValue)", on: router) { try await FetchResults(visit: $0, format: format, origin: $1).response() }
        }
        file("record/file", on: router, readsZones: false) { visit, _ in try await ConnectedFile.response(visit) }
        pick("picked", on: router) { try await PickedActions.answer($0) }
        pick("picked/delete", on: router) { try await PickedActions.delete($0) }
        act("queries/save", on: router) { try await SavedQueryActions.save($0) }
        act("queries/remove", on: router) { try await SavedQueryActions.remove($0) }
    }

    /// Adds a download. Errors are answered in JSON with a status code, without a page.
    private func file(
        _ path: String, on router: Routes.Group, readsZones: Bool = true, _ answer: @escaping @Sendable (Visit, String) async throws -> Response
    ) {
        router.get("\(Self.placePath)/\(path)") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self, readsZones: readsZones)
            do {
                return try await answer(visit, request.ownOrigin)
            } catch let error as RecordError {
                return .refusal(error)
            }
        }
    }

    /// Adds an action for the ticked records of a table. It answers with a file or with a page.
    private func pick(
        _ path: String, on router: Routes.Group, _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.post("\(Self.placePath)/\(path)") { request, context in
            let fields = try await request.form(.choices)
            let visit = try await Visit(request, context, fields: fields, console: self)
            guard let format = fields["do"].flatMap(ResultFormat.init(rawValue:)) else { return try await response(to: visit) { try await answer(visit) } }
            do {
                let results = FetchResults(visit: visit, format: format, origin: request.ownOrigin)
                return try await results.response(visit.pickedRecords().map(\.recordID), keys: nil)
            } catch let error as RecordError {
                return .refusal(error)
            }
        }
    }
}
