import ServiceLifecycle

/// Takes the server's address away as soon as the server begins to end, so that no command comes to it that it would not answer.
struct ServerFileWithdrawal: Service {
    let file: ServerFile

    func run() async throws {
        try await gracefulShutdown()
        file.remove()
    }
}
