internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

extension Console {
    /// Adds the pages that copy schemas between environments and import or export schema files.
    func addSchemaPages(to router: Routes.Group) {
        // Both were pages once, and people keep their addresses.
        show("compare", on: router) { .redirect($0.place.link("deploy")) }
        show("deploy", on: router) { .page(try await DeployView.load($0)) }
        submit("deploy", carries: .choices, on: router) { try await DeployView.deploy($0) }
        show("reset", on: router) { .page(try await ResetView.load($0)) }
        submit("reset", carries: .choices, on: router) { try await ResetView.reset($0) }
        submit("schema/import", carries: .schemaFile, on: router) { try await ImportView.plan($0) }
        submit("schema/apply", carries: .schemaFile, on: router) { try await ImportView.apply($0) }
        router.get("\(Self.placePath)/schema/export") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            var response = Response.content(try SchemaView.text(visit).utf8, type: "text/plain; charset=utf-8")
            // Container names are letters, digits, dots and hyphens, so the file name needs no escaping.
            response.headers[.contentDisposition] = "attachment; filename=\"\(SchemaView.fileName(visit))\""
            return response
        }
    }
}
