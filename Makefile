# make install [PREFIX=/usr/local] [DESTDIR=], make uninstall. Building is cargo's job.
PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
CARGO_TARGET_DIR ?= target
binary ?= $(CARGO_TARGET_DIR)/release/cowbox

bin = $(DESTDIR)$(PREFIX)/bin
share = $(DESTDIR)$(PREFIX)/share

.PHONY: build install uninstall
build:
	$(CARGO) build --release --locked

# Built only where there is none: `sudo make install` needs no compiler.
$(binary):
	$(CARGO) build --release --locked

install: $(binary)
	install -D -m 755 "$(binary)" "$(bin)/cowbox"
	install -D -m 644 completions/cowbox.bash "$(share)/bash-completion/completions/cowbox"
	install -D -m 644 completions/_cowbox "$(share)/zsh/site-functions/_cowbox"
	install -D -m 644 completions/cowbox.fish "$(share)/fish/vendor_completions.d/cowbox.fish"
	for page in man/*; do install -D -m 644 "$$page" "$(share)/man/man$${page##*.}/$${page##*/}" || exit 1; done

uninstall:
	rm -f "$(bin)/cowbox" "$(share)/bash-completion/completions/cowbox" "$(share)/zsh/site-functions/_cowbox"
	rm -f "$(share)/fish/vendor_completions.d/cowbox.fish"
	for page in man/*; do rm -f "$(share)/man/man$${page##*.}/$${page##*/}" || exit 1; done
