package import Console
internal import HTTPServing

extension SnapshotActions {
    /// Adds a shared snapshot to those of a place.
    package func add(_ asked: ConsoleRequest) async throws -> Answer {
        let (fields, file) = try await asked.upload()
        let visit = try await Visit(asked, fields: fields)
        return .response(try await asked.response(to: visit, [.takesLong]) { try await self.add(file, $0) })
    }

    /// Opens a shared snapshot, from the start page.
    package func open(_ asked: ConsoleRequest) async throws -> Answer {
        let (fields, file) = try await asked.upload()
        return .redirect(
            try await asked.context.lengthy {
                try await self.open(file, into: fields["container"] ?? "", console: asked.console)
            })
    }
}
