import Foundation

/// Reads secrets from the terminal.
enum HiddenInput {
    private static let limit = 4096

    /// True if standard input is a terminal.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

    /// Reads a line without echo. Ctrl-C restores the terminal and ends the process.
    static func line(after prompt: String) throws -> String {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { throw CommandFailure(.failed, "The terminal can't be used") }
        var hidden = before
        // Reads single bytes, with Ctrl-C as a byte, so that the terminal is always restored.
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else { throw CommandFailure(.failed, "The terminal can't be used") }
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) }
        Output.write(prompt)
        defer { Output.write("\n") }
        var bytes: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            switch byte {
            case 0x0A, 0x0D: return String(decoding: bytes, as: UTF8.self)
            case 0x03:
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
                Output.write("\n")
                signal(SIGINT, SIG_DFL)
                // Sends the signal to the process, because this thread blocks signals.
                kill(getpid(), SIGINT)
                sleep(1)
                exit(130)
            case 0x04 where bytes.isEmpty: throw CommandFailure(.usage, "The password is empty; nothing was changed")
            case 0x15: bytes = []
            case 0x08, 0x7F:
                // Removes all bytes of a multibyte character.
                while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
            case 0x20...: if bytes.count < limit { bytes.append(byte) }
            default: break
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
