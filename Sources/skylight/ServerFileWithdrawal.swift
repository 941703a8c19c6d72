import ServiceLifecycle

/// Removes the server file as soon as the shutdown begins, so that commands do not connect to a server that no longer answers.
struct ServerFileWithdrawal: Service {
    let file: ServerFile

    func run() async throws {
        try await gracefulShutdown()
        file.remove()
    }
}
